"""The feed: commit order, no gaps, whatever is still open beside it."""

import asyncio
import contextvars
import re
from datetime import timedelta

import pytest

from leadwire.delivery import epochs
from leadwire.delivery.feed import feed
from leadwire.domain.privacy import erasure
from leadwire.infrastructure import clock, db, ids
from leadwire.infrastructure.errors import InvalidParameter
from tests import make
from tests.waiting import eventually


async def person(workspace, bot):
    return await make.lead(workspace, bot, email=f"{ids.new('x')}@example.com")


async def settled() -> None:
    """Nothing is open any more, not even the server's own housekeeping: the feed shows everything."""
    alone = "SELECT pg_snapshot_xmin(now) = pg_snapshot_xmax(now) FROM pg_current_snapshot() now"
    await eventually(lambda: db.value(alone))


async def read_to_the_end(workspace, after="", limit=2, **how) -> tuple[list[str], str]:
    """Every event id after a cursor, page by page, and the last cursor."""
    seen: list[str] = []
    while page := (await feed(workspace, after, limit=limit, **how)).events:
        seen += [one.id for one in page]
        after = page[-1].id
    return seen, after


async def test_every_event_comes_once_in_the_order_of_commits(workspace, bot):
    for _ in range(5):
        await person(workspace, bot)
    await settled()
    recorded = [row["id"] for row in await db.rows("SELECT id FROM event ORDER BY xact, position")]
    seen, cursor = await read_to_the_end(workspace)
    assert seen == recorded
    assert await read_to_the_end(workspace, cursor) == ([], cursor)
    await person(workspace, bot)
    await settled()
    more, _ = await read_to_the_end(workspace, cursor)
    assert len(more) == len(recorded) / 5
    assert not set(more) & set(seen)


async def test_an_event_committed_late_is_not_skipped(workspace, bot):
    """Its transaction began first: it comes before, or the feed waits for it; never behind a cursor handed out."""
    outside, loop = contextvars.copy_context(), asyncio.get_running_loop()
    async with db.transaction():
        slow = await person(workspace, bot)
        await loop.create_task(person(workspace, bot), context=outside)
        seen, cursor = await loop.create_task(read_to_the_end(workspace), context=outside)
    await settled()
    rest, _ = await read_to_the_end(workspace, cursor)
    recorded = {row["id"] for row in await db.rows("SELECT id FROM event")}
    assert sorted([*seen, *rest]) == sorted(recorded)
    assert await db.value("SELECT count(*) FROM event WHERE lead_id = $1 AND id = ANY($2)", slow.id, rest)


async def test_many_writers_and_a_reader_that_never_stops_miss_nothing(workspace, bot):
    done = asyncio.Event()
    seen: list[str] = []

    async def follow() -> None:
        cursor = ""
        while True:
            ended = done.is_set()
            found, cursor = await read_to_the_end(workspace, cursor, 7)
            seen.extend(found)
            if ended and not found:
                return

    async def write() -> None:
        for _ in range(10):
            await person(workspace, bot)

    reader = asyncio.create_task(follow())
    await asyncio.gather(*(write() for _ in range(6)))
    await settled()
    done.set()
    await reader
    recorded = [row["id"] for row in await db.rows("SELECT id FROM event ORDER BY xact, position")]
    assert seen == recorded


async def test_it_goes_on_after_the_last_event_somebody_has(workspace, bot):
    await person(workspace, bot)
    await person(workspace, bot)
    await settled()
    seen, _ = await read_to_the_end(workspace)
    assert (await read_to_the_end(workspace, seen[2]))[0] == seen[3:]


async def test_kinds_workspaces_and_the_erased_are_kept_apart(workspace, bot, other_workspace):
    lead = await person(workspace, bot)
    await settled()
    for kinds in (["lead.created"], ["lead.created"] * 2):
        assert [one.kind for one in (await feed(workspace, kinds=kinds)).events] == ["lead.created"]
    assert (await feed(other_workspace)).events == []
    with pytest.raises(InvalidParameter):
        await feed(other_workspace, (await feed(workspace)).events[0].id)
    await erasure.erase_lead(workspace, lead.id)
    await settled()
    kinds = [one.kind for one in (await feed(workspace)).events]
    assert "lead.created" not in kinds
    assert kinds[-1] == "lead.deleted"


@pytest.mark.parametrize(
    "cursor", ["x", "evt_1", "1-1", "1-1-evt_", "-1-1-evt_00000000000000000000000000", "١-1-evt_" + "0" * 26, " "]
)
async def test_what_is_no_cursor_is_refused(workspace, cursor):
    with pytest.raises(InvalidParameter):
        await feed(workspace, cursor)


@pytest.mark.parametrize("numbers", ["", "1-1-", "9999999999999999999-1-"])
async def test_a_cursor_whose_day_is_no_longer_kept_is_refused(workspace, bot, numbers):
    await person(workspace, bot)
    await settled()
    with pytest.raises(InvalidParameter, match="is no longer kept") as refused:
        await feed(workspace, f"{numbers}{ids.floor('evt', clock.ago(days=400))}")
    assert [fault.code for fault in refused.value.errors] == ["expired_cursor"]


async def test_an_event_that_should_be_here_and_is_not_was_lost(workspace, bot):
    await person(workspace, bot)
    await settled()
    everything, _ = await read_to_the_end(workspace)
    gone = ids.new("evt")
    await person(workspace, bot)
    await settled()
    with pytest.raises(InvalidParameter, match="has lost it") as refused:
        await feed(workspace, gone)
    (since,) = re.findall("after (.+Z)", str(refused.value))
    assert [one.id for one in (await feed(workspace, since)).events][: len(everything)] == everything
    assert (await feed(workspace, clock.iso(clock.now() + timedelta(minutes=1)))).events == []


async def test_an_unknown_kind_is_refused(workspace):
    with pytest.raises(InvalidParameter, match=r"lead\.eaten"):
        await feed(workspace, kinds=["lead.eaten"])


async def test_a_restored_database_shows_its_events_and_then_those_that_follow(workspace, bot, other_workspace):
    """As after a dump: a new server's transactions count from the beginning, the events keep theirs."""
    for _ in range(3):
        await person(workspace, bot)
    await settled()
    old, _ = await read_to_the_end(workspace)
    middle = (await feed(workspace, limit=4)).events[-1]
    await db.rows("UPDATE event SET xact = (xact::text::bigint + 1000000000)::text::xid8")
    assert await epochs.note()
    assert not await epochs.note()
    assert (await read_to_the_end(workspace))[0] == old
    await person(workspace, bot)
    await settled()
    new = [row["id"] for row in await db.rows("SELECT id FROM event ORDER BY xact, position") if row["id"] not in old]
    assert new
    seen, last = await read_to_the_end(workspace)
    assert seen == old + new, "with a cursor or without, what was restored comes first"
    assert (await read_to_the_end(workspace, middle.id))[0] == old[4:] + new
    assert await read_to_the_end(workspace, last) == ([], last)
    await person(workspace, bot)
    await settled()
    assert len((await read_to_the_end(workspace, last))[0]) == len(old) / 3
    before = f"1000000123-4-{middle.id}"
    assert (await read_to_the_end(workspace, before))[0][: len(old) - 4] == old[4:], (
        "cursors of an earlier version hold"
    )
    assert (await feed(other_workspace)).events == []
