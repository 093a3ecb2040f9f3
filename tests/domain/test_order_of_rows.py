"""What a page shows has one order, whatever order its rows were written in."""

from leadwire.domain.webhooks import reads
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
