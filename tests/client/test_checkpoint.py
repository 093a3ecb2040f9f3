"""A receiver's numbers compared with a checkpoint, with each database and driver of the inbox."""

import functools
import hashlib

import pytest

from leadwire.infrastructure import clock
from leadwire_client import Checkpoint, compare, compare_async
from tests.client.handling import connections
from tests.client.test_inbox import SQL


@pytest.fixture
async def connect(tables, servers, tmp_path):
    async with connections(servers, tmp_path / "receiver.db") as opened:
        yield opened


def checkpoint(*numbers: int, after: int = 0, last: int = 0, **more) -> Checkpoint:
    """Of events that are called after their numbers."""
    text = "".join(f"{number} evt_{number}\n" for number in numbers)
    known = {"highest": last, "open": [], "gone": []} | more
    return Checkpoint(
        endpoint_id="we_1",
        at=clock.now(),
        after=after,
        last=last or max(numbers, default=after),
        count=len(numbers),
        digest=hashlib.sha256(text.encode()).hexdigest(),
        **known,
    )


async def compared(receiver, *values):
    if receiver.thread:
        return await receiver.in_thread(functools.partial(compare, receiver.connection, *values))
    return await compare_async(receiver.connection, *values)


@pytest.mark.parametrize("driver", SQL)
async def test_what_is_missing_is_told_also_at_the_end(driver, connect):
    one = await connect(driver)
    for number in (1, 2, 5):
        await one.handle(f"evt_{number}", number=number)
    assert await compared(one, checkpoint(1, 2, 3, 4, 5, 6, 7)) == ([(3, 4), (6, 7)], False, 2)
    assert await compared(one, checkpoint(5, after=4)) == ([], False, 5)
    assert await compared(one, checkpoint(5, 6, after=4)) == ([(6, 6)], False, 5)
    for number in (3, 4):
        await one.handle(f"evt_{number}", number=number)
    assert await compared(one, checkpoint(1, 2, 3, 4, 5)) == ([], False, 5)


@pytest.mark.parametrize("driver", SQL)
async def test_what_is_on_its_way_or_gone_is_not_missing(driver, connect):
    """Whether it has arrived or not."""
    one = await connect(driver)
    for number in (1, 3, 4, 5):
        await one.handle(f"evt_{number}", number=number)
    told = checkpoint(1, 5, last=10**15, open=[(2, 3)], gone=[(4, 4), (6, 10**15)])
    assert await compared(one, told) == ([], False, 1)
    assert await compared(one, checkpoint(1, 5, last=6, open=[(6, 6)], gone=[(2, 4)])) == ([], False, 5)


@pytest.mark.parametrize("driver", SQL)
async def test_a_number_with_another_event_is_told(driver, connect):
    one = await connect(driver)
    await one.handle("evt_1", number=1, endpoint="crm")
    await one.handle("evt_lost", number=2, endpoint="crm")
    assert await compared(one, checkpoint(1, 2), "crm") == ([], True, 0)
    assert await compared(one, checkpoint(1), "crm") == ([], False, 1)
    assert await compared(one, checkpoint(1, 2)) == ([(1, 2)], False, 0), "of another endpoint here"
