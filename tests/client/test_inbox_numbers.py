"""Numbers that are missing, and numbers that came with two events, with each database and driver of the inbox."""

import pytest
from psycopg.rows import dict_row

from leadwire.infrastructure import clock
from leadwire_client.inbox import check_numbers
from tests.client.handling import Boom, connections
from tests.client.test_checkpoint import checkpoint, compared
from tests.client.test_inbox import SQL


@pytest.fixture
async def connect(tables, servers, tmp_path):
    async with connections(servers, tmp_path / "receiver.db") as opened:
        yield opened


async def age(receiver):
    day_before_yesterday = clock.ago(days=2)
    await receiver.do("execute", f"UPDATE webhook_number SET received_at = '{day_before_yesterday:%Y-%m-%d %H:%M:%S}'")


@pytest.mark.parametrize("driver", SQL)
async def test_missing_numbers_are_told_once_their_retries_are_over(driver, connect):
    one = await connect(driver)
    for number in ("3", "7", "4", "9", "12"):
        await one.handle(f"evt_{number}", number=number)
    assert await one.check_numbers() == ([], {})
    await age(one)
    missing, repeated = await one.check_numbers()
    assert missing == [(5, 6), (8, 8), (10, 11)]
    assert repeated == {}
    await one.handle("evt_8", number=8)
    assert (await one.check_numbers()).missing == [(5, 6), (10, 11)]
    assert (await one.check_numbers(days=1)).missing == [(10, 11)], "what is below 7 is old and deleted"
    await one.handle("evt_20", number=20)
    assert (await one.check_numbers(days=1)).missing == [(10, 11)]


@pytest.mark.parametrize("driver", SQL)
async def test_a_number_of_two_events_is_told(driver, connect):
    one = await connect(driver)
    for event in ("evt_1", "evt_1", "evt_2"):
        await one.handle(event, number=1, endpoint="crm")
    await one.handle("evt_3", number=1, endpoint="billing")
    await one.handle("evt_2", number=2, endpoint="crm")
    assert await one.check_numbers("crm") == ([], {1: ["evt_1", "evt_2"]})
    assert await one.check_numbers("billing") == ([], {})


@pytest.mark.parametrize("driver", ["psycopg", "psycopg-async", "sqlite3", "aiosqlite"])
async def test_rows_are_read_whatever_the_connection_makes_of_them(driver, connect):
    one = await connect(driver)
    for event, number in (("evt_1", 1), ("evt_2", 1), ("evt_4", 4)):
        await one.handle(event, number=number)
    await age(one)
    one.connection.row_factory = dict_row if "psycopg" in driver else as_dict
    assert await one.check_numbers() == ([(2, 3)], {1: ["evt_1", "evt_2"]})
    assert (await compared(one, checkpoint(1, 2, 3))).missing == [(2, 3)]


def as_dict(cursor, row):
    """As the documents of Python show it."""
    return {column[0]: value for column, value in zip(cursor.description, row, strict=True)}


@pytest.mark.parametrize("driver", SQL)
async def test_a_number_is_kept_with_what_the_block_changes(driver, connect):
    one = await connect(driver)
    with pytest.raises(Boom):
        await one.handle(number=1, fails=True)
    assert await one.fetch("SELECT * FROM webhook_number") == []
    assert await one.handle(number=1)
    assert await one.fetch("SELECT number FROM webhook_number") == [(1,)]
    with pytest.raises(ValueError, match="x1"):
        await one.handle("evt_2", number="x1")
    assert await one.handle("evt_2", number=None)


async def test_an_asynchronous_connection_needs_the_asynchronous_function(connect):
    one = await connect("aiosqlite")
    with pytest.raises(TypeError, match="_async"):
        check_numbers(one.connection)
    await one.fetch("SELECT 1")
    assert not one.connection.in_transaction  # else nothing that is handled on it from now on would be committed
