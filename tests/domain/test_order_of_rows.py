"""What a page shows has one order, whatever order its rows were written in."""

from contextlib import asynccontextmanager

from leadwire.delivery import epochs
from leadwire.domain.privacy import reads as old
from leadwire.domain.privacy import retention
from leadwire.domain.webhooks import history, preview, reads
from leadwire.infrastructure import clock, db, ids
from tests import make
from tests.delivery.wired import endpoint


@asynccontextmanager
async def restored():
    """What is done inside the block was done on a server that had counted more transactions than this one has."""
    await epochs.note()
    yield
    await db.rows("UPDATE event SET xact = (9000000000000 + position)::text::xid8")
    await db.rows("UPDATE epoch SET server = 'another'")
    await epochs.note()


async def test_deliveries_of_an_event(workspace, bot, receiver, wire):
    """Those that have ended are in another table."""
    made = sorted([(await endpoint(workspace, receiver.url)).id for _ in range(4)])
    await make.somebody(workspace, bot)
    await wire.relay()
    event_id = await db.value("SELECT max(event_id) FROM delivery")
    for endpoint_id in (made[2], made[0]):
        await make.ended(event_id, endpoint_id, "dead")
    states = await reads.states_of(workspace, [event_id])
    assert [endpoint_id for endpoint_id, *_ in states[event_id]] == made


async def test_an_event_with_more_deliveries_than_a_page_is_listed_whole(workspace, bot, receiver, wire):
    """A workspace may have twice as many endpoints as a page has rows."""
    made = sorted([(await endpoint(workspace, receiver.url)).id for _ in range(4)])
    for _ in range(2):
        await make.somebody(workspace, bot)
    await wire.relay()
    listed, after = [], ""
    while after is not None:
        page = await history.page(workspace, history.Filter(), after, limit=2)
        listed, after = listed + [(row.event_id, row.endpoint_id) for row in page.rows], page.after
    events = await db.rows("SELECT DISTINCT event_id AS id FROM delivery ORDER BY 1 DESC")
    assert listed == [(event["id"], endpoint_id) for event in events for endpoint_id in made]


async def test_what_comes_after_a_restore_is_listed_first(workspace, bot, receiver, wire):
    await endpoint(workspace, receiver.url)
    async with restored():
        for _ in range(2):
            await make.somebody(workspace, bot)
    await make.somebody(workspace, bot)
    await wire.relay()
    listed, after = [], ""
    while after is not None:
        page = await history.page(workspace, history.Filter(), after, limit=1)
        listed, after = listed + [row.event_id for row in page.rows], page.after
    assert listed == [row["id"] for row in await db.rows("SELECT event_id AS id FROM delivery ORDER BY 1 DESC")]


async def test_what_comes_after_a_restore_is_in_the_preview_of_an_endpoint(workspace, bot, monkeypatch):
    monkeypatch.setattr(preview, "MOST", 2)
    async with restored():
        for _ in range(3):
            await make.somebody(workspace, bot)
    newest = await make.somebody(workspace, bot)
    shown = await preview.of(workspace, ["lead.created"], 1)
    assert (shown.total, shown.examples[0].subject) == (2, newest.id)


async def test_what_comes_after_a_restore_stays_in_the_preview_of_retention(workspace, bot, monkeypatch):
    monkeypatch.setattr(old, "COUNTED", 2)
    async with restored():
        first = await recorded(workspace, bot, 4)
    await recorded(workspace, bot, 3)
    await recorded(workspace, bot, 3)
    await recorded(workspace, bot, 0)
    (events,) = (await retention.preview(workspace, dict.fromkeys(retention.KINDS) | {"events": 2})).values()
    assert events.some_stay
    assert events.oldest == first


async def recorded(workspace, bot, days):
    """Events of so many days ago. Return when the first was recorded."""
    past = ids.floor("evt", clock.ago(days=days))[:14]
    before = {row["id"] for row in await db.rows("SELECT id FROM event")}
    await make.somebody(workspace, bot)
    new = sorted({row["id"] for row in await db.rows("SELECT id FROM event")} - before)
    await db.rows("UPDATE event SET id = $1 || substr(id, 15) WHERE id = ANY($2)", past, new)
    return ids.moment(past + new[0][14:])
