"""Whoever follows the feed where nothing comes for long: the place to go on from outlives the days of events."""

import asyncio
import contextvars
from datetime import timedelta

import pytest

from leadwire.delivery.relay import partitions
from leadwire.domain.feed import reads
from leadwire.domain.feed.reads import FeedQuery
from leadwire.infrastructure import clock, db, ids
from leadwire.infrastructure.errors import InvalidParameter
from tests import make
from tests.delivery.test_feed import person, settled
from tests.delivery.test_partitions import usual_days  # noqa: F401 - a fixture

CREATED = "lead.created"


@pytest.fixture(autouse=True)
def ids_by_the_clock(monkeypatch):
    """An id has the time that the clock is set to."""
    new = ids.new
    monkeypatch.setattr(ids, "new", lambda kind: ids.floor(kind, clock.now())[:-16] + new(kind)[-16:])


async def page(workspace, cursor, types=CREATED):
    return await reads.page(workspace, "key_1", FeedQuery(cursor=cursor, types=types))


async def recorded(kind=CREATED):
    return [row["id"] for row in await db.rows("SELECT id FROM event WHERE kind = $1 ORDER BY xact, position", kind)]


@pytest.mark.parametrize("only", [CREATED, None], ids=["of one kind", "of all"])
async def test_a_place_is_kept_when_its_day_is_dropped(workspace, bot, only):
    begun = clock.ago(days=4)
    await db.rows("SELECT make_event_partitions($1, $1)", begun.date())
    with clock.at(begun):
        await person(workspace, bot)
    if only:
        await make.conversation(workspace, bot)
    await settled()
    old = (await page(workspace, "first", only)).next_cursor
    found = await page(workspace, old, only)
    assert not found.events
    assert (await partitions.maintain(2))[1] == [begun.date()]
    with pytest.raises(InvalidParameter) as refused:
        await page(workspace, old, only)
    assert [fault.code for fault in refused.value.errors] == ["expired_cursor"]
    assert await page(workspace, found.next_cursor, only) == found
    with clock.at(clock.ago(days=-4)):
        later = await page(workspace, found.next_cursor, only)
    assert later.next_cursor > found.next_cursor
    await person(workspace, bot)
    await settled()
    new = [event.id for event in (await page(workspace, found.next_cursor, only)).events]
    assert new[-1:] == await recorded()
    assert len(new) == await db.value("SELECT count(*) FROM event WHERE kind = $1 OR $1 IS NULL", only)


async def test_nothing_is_lost_or_repeated_over_weeks(workspace, bot):
    """Leads come rarely, conversations often; it is asked for leads alone, every eight hours."""
    seen, cursors, cursor, now = [], set(), "first", clock.now()
    await db.rows("SELECT make_event_partitions($1, $2)", clock.ago(days=15).date(), now.date())
    for before in range(14 * 24, -1, -8):
        with clock.at(now - timedelta(hours=before)):
            if before in (312, 304, 192, 184, 176, 112, 104, 32, 24, 0):
                await person(workspace, bot)
            if before % 32 == 0:
                await make.conversation(workspace, bot)
            await settled()
            found = await page(workspace, cursor)
        seen += [event.id for event in found.events]
        cursor = found.next_cursor
        cursors.add(cursor if cursor == "first" else "bound" if cursor.endswith("0" * 16) else "event")
    assert seen == await recorded()
    assert cursors == {"first", "bound", "event"}


async def test_a_place_stays_while_something_is_held_back(workspace, bot):
    outside, loop = contextvars.copy_context(), asyncio.get_running_loop()
    with clock.at(clock.ago(days=4)):
        await person(workspace, bot)
    await settled()
    (old,) = await recorded()

    async def asked():
        return await page(workspace, old)

    async with db.transaction():
        await person(workspace, bot)
        await loop.create_task(person(workspace, bot), context=outside)
        found = await loop.create_task(asked(), context=outside)
        assert (found.events, found.next_cursor) == ([], old)
        assert found.held_back_since
    await settled()
    assert [event.id for event in (await page(workspace, old)).events] == (await recorded())[1:]


async def test_what_is_not_committed_yet_is_not_lost(workspace, bot):
    outside, loop = contextvars.copy_context(), asyncio.get_running_loop()
    with clock.at(clock.ago(days=4)):
        await person(workspace, bot)
    await settled()
    (old,) = await recorded()

    async def asked():
        return await page(workspace, old)

    async with db.transaction():
        with clock.at(clock.ago(hours=23)):
            await person(workspace, bot)
        found = await loop.create_task(asked(), context=outside)
        assert (found.events, found.held_back_since) == ([], None)
        assert found.next_cursor != old
    await settled()
    assert [event.id for event in (await page(workspace, found.next_cursor)).events] == (await recorded())[1:]


async def test_a_bound_expires_as_an_event_does_and_none_of_the_future_is_ours(workspace, bot):
    """Whoever was away for longer than events are kept may have missed some."""
    await person(workspace, bot)
    await settled()
    for days, code in ((400, "expired_cursor"), (-1, "foreign_cursor")):
        with pytest.raises(InvalidParameter) as refused:
            await page(workspace, ids.floor("evt", clock.ago(days=days)))
        assert [fault.code for fault in refused.value.errors] == [code]


async def test_a_place_of_the_last_days_is_the_event(workspace, bot):
    with clock.at(clock.ago(hours=47)):
        await person(workspace, bot)
    await settled()
    (last,) = await recorded()
    assert (await page(workspace, last)).next_cursor == last
