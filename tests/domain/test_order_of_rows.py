"""What a page shows has one order, whatever order its rows were written in."""

from leadwire.delivery import epochs
from leadwire.domain.webhooks import history, reads
from leadwire.infrastructure import db
from tests import make
from tests.delivery.wired import endpoint


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
    """The server that a dump comes from had counted more transactions than the new one has."""
    await endpoint(workspace, receiver.url)
    await epochs.note()
    for _ in range(2):
        await make.somebody(workspace, bot)
    await db.rows("UPDATE event SET xact = (9000000000000 + position)::text::xid8")
    await db.rows("UPDATE epoch SET server = 'another'")
    await epochs.note()
    await make.somebody(workspace, bot)
    await wire.relay()
    listed, after = [], ""
    while after is not None:
        page = await history.page(workspace, history.Filter(), after, limit=1)
        listed, after = listed + [row.event_id for row in page.rows], page.after
    assert listed == [row["id"] for row in await db.rows("SELECT event_id AS id FROM delivery ORDER BY 1 DESC")]
