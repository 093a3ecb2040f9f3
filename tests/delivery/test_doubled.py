"""A delivery that has ended and is still to be sent, as an earlier version could leave it, is in nobody's way."""

import importlib

import pytest

from leadwire.domain.privacy import erasure
from leadwire.domain.webhooks import changes
from leadwire.infrastructure import db
from tests import jobs, make
from tests.delivery.test_delivery import broken, states
from tests.delivery.wired import endpoint

_DOUBLE = """
INSERT INTO delivery (event_id, endpoint_id, workspace_id, state, due_at, queued_at)
SELECT event_id, endpoint_id, workspace_id, $1, now(), now() FROM delivery_result"""


@pytest.fixture
async def doubled(workspace, bot, wire, receiver):
    """Make one that waits or is queued. Return its lead and its endpoint."""

    async def make_it(state: str):
        made, lead = await endpoint(workspace, receiver.url), await make.somebody(workspace, bot)
        await wire.turn()
        await db.rows(_DOUBLE, state)
        assert "open_and_ended" in await broken(wire)
        return lead, made

    return make_it


@pytest.mark.parametrize("state", ["waiting", "queued"])
async def test_the_person_can_be_erased(workspace, wire, doubled, state):
    lead, _ = await doubled(state)
    await erasure.erase_lead(workspace, lead.id)
    assert await states() == {"cancelled": 1}
    assert await broken(wire) == []


async def test_it_holds_up_no_discard(workspace, bot, wire, receiver, doubled):
    _, made = await doubled("waiting")
    await changes.delete(workspace, made.id)
    assert await jobs.discard() == 1
    assert await states() == {"cancelled": 1}
    assert await broken(wire) == []


@pytest.mark.parametrize(("status", "state"), [(204, "delivered"), (410, "dead")])
async def test_its_outcome_is_recorded(wire, receiver, doubled, status, state):
    await doubled("waiting")
    receiver.answer = status
    await db.rows("UPDATE webhook_endpoint SET due_at = now()")
    await wire.turn()
    assert await states() == {state: 1}
    assert await broken(wire) == []


@pytest.mark.parametrize("aside", [True, False])
async def test_a_migration_sends_it_again(wire, receiver, doubled, aside):
    await doubled("waiting")
    if aside:
        await db.rows("UPDATE delivery SET set_aside_at = now(), due_at = 'infinity'")
    await db.rows(importlib.import_module("migrations.2026_11_23_deliveries").UP)
    assert await states() == {"waiting": 1}
    assert await broken(wire) == []
    await wire.turn()
    assert len(receiver.deliveries) == 2
    assert await states() == {"delivered": 1}
    assert await broken(wire) == []
