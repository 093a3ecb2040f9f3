"""Dead letters: what came together is one mail, and there is one a day."""

import pytest

from leadwire.infrastructure import db
from tests import make
from tests.delivery.wired import endpoint
from tests.domain.notices.telling import tell
from tests.mailing import mails

pytestmark = pytest.mark.usefixtures("mailing", "ada")
MINUTE, DAY = 60.0, 86_400.0


@pytest.fixture
async def dies(workspace, bot, receiver):
    """Lets so many deliveries to an endpoint die now."""
    endpoints = [(await endpoint(workspace, receiver.url)).id for _ in range(2)]

    async def die(count=1, to=0, **columns):
        for _ in range(count):
            await make.somebody(workspace, bot)
            event = await db.value("SELECT max(id) FROM event WHERE kind = 'lead.created'")
            await make.ended(event, endpoints[to], "dead", **columns)

    return die


async def sweep():
    return await tell("dead_letters")


async def counts():
    return [[one["count"] for one in values["listed"]] for _, values in await mails("dead_letters")]


async def test_the_first_waits_for_those_that_come_with_it_and_the_next_for_a_day(dies, db_clock):
    await dies(2)
    assert await sweep() == 0
    await db_clock.forward(5 * MINUTE)
    await dies(1, to=1)
    await dies(1, to=1, test=True)  # of which nobody is told
    await db_clock.forward(2 * MINUTE)
    assert [await sweep() for _ in range(2)] == [1, 0]
    assert await counts() == [["2", "1"]]
    await db_clock.forward(10 * MINUTE)
    await dies()
    await db_clock.forward(DAY - 20 * MINUTE)
    assert await sweep() == 0
    await db_clock.forward(20 * MINUTE)
    assert [await sweep() for _ in range(2)] == [1, 0]
    assert (await counts())[1:] == [["1"]]
    await db_clock.forward(2 * DAY)
    assert await sweep() == 0


async def test_one_that_dies_while_a_mail_is_written_is_in_the_next(dies, db_clock):
    await dies()
    await db_clock.forward(6 * MINUTE)
    await dies()  # within the last minute: its transaction might still be open
    assert await sweep() == 1
    await db_clock.forward(DAY)
    assert await sweep() == 1
    assert await counts() == [["1"], ["1"]]


async def test_old_ones_are_no_news(dies, db_clock):
    await dies()
    await db_clock.forward(DAY + 10 * MINUTE)
    assert await sweep() == 0


async def test_it_says_where_they_are(dies, db_clock, workspace):
    await dies(3)
    await db_clock.forward(6 * MINUTE)
    assert await sweep() == 1
    ((to, values),) = await mails("dead_letters")
    assert to == "ada@example.com"
    assert (values["count"], values["workspace"]) == ("3", "Test")
    assert "example.com" not in str(values)  # no lead's address
