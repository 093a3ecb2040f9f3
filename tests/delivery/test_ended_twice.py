"""A delivery that is open and has ended, which no statement should make: whatever ends it leaves one state."""

import pytest

from leadwire.delivery.endpoints import discard
from leadwire.domain.privacy import erasure
from leadwire.domain.webhooks import changes
from leadwire.infrastructure import db
from tests import jobs, make
from tests.delivery.test_delivery import states
from tests.delivery.wired import endpoint


@pytest.fixture
async def lead(workspace, bot, wire, receiver):
    """Its delivery is open, and dead since an hour."""
    await endpoint(workspace, receiver.url)
    lead = await make.lead(workspace, bot)
    await wire.relay()
    await db.rows("""
INSERT INTO delivery_result (event_id, endpoint_id, workspace_id, state, attempts, generation, test, created_at,
    finished_at) SELECT event_id, endpoint_id, workspace_id, 'dead', 4, 1, false, created_at, now() - interval '1 hour'
FROM delivery""")
    return lead


async def ended_now() -> bool:
    return bool(await db.value("SELECT bool_and(finished_at > now() - interval '1 minute') FROM delivery_result"))


@pytest.mark.parametrize(("answer", "state"), [(204, "delivered"), (410, "dead")])
async def test_its_last_outcome_counts(wire, lead, receiver, answer, state):
    receiver.answer = answer
    await wire.deliver()
    assert await states() == {state: 1}
    assert await db.value("SELECT attempts FROM delivery_result") == 5
    assert await ended_now()


async def test_its_person_can_be_erased(workspace, wire, lead):
    await erasure.erase_lead(workspace, lead.id)
    assert await states() == {"cancelled": 1}
    assert await ended_now()


async def test_it_can_be_discarded(workspace, wire, lead):
    await db.rows("UPDATE delivery SET state = 'waiting'")
    await discard.start(await db.value("SELECT endpoint_id FROM delivery"))
    while await jobs.discard():
        pass
    assert await states() == {"cancelled": 1}


async def test_it_is_canceled_when_its_endpoint_is_gone(workspace, wire, lead):
    await changes.delete(workspace, await db.value("SELECT endpoint_id FROM delivery"))
    assert await wire.deliver() == []
    assert await states() == {"cancelled": 1}
