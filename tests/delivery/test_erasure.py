"""Somebody is erased at each step of a delivery: nothing of them is sent any more, and nothing is left behind."""

import pytest

from leadwire.delivery.relay.fan_out import fan_out
from leadwire.delivery.worker import quarantine
from leadwire.domain.privacy import erasure
from leadwire.domain.webhooks import changes, redrives
from leadwire.domain.webhooks.redrives import Selection
from leadwire.domain.webhooks.schema import EndpointChange
from leadwire.infrastructure import db
from tests import make
from tests.delivery.test_delivery import broken, states
from tests.delivery.wired import endpoint, redriven


async def recorded(wire, receiver):
    pass


async def waiting(wire, receiver):
    await fan_out()


async def queued(wire, receiver):
    await wire.relay()


async def retried(wire, receiver):
    receiver.answer, receiver.echo = 500, True
    await wire.turn()


async def set_aside(wire, receiver):
    await wire.relay()
    await quarantine.set_aside(await wire.read())


async def dead(wire, receiver):
    receiver.answer, receiver.echo = 410, True
    await wire.turn()
    await db.rows("UPDATE webhook_endpoint SET enabled = true")


async def delivered(wire, receiver):
    receiver.answer, receiver.echo = 200, True
    await wire.turn()


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("step", [recorded, waiting, queued, retried, set_aside, dead, delivered])
async def test_nothing_of_an_erased_person_is_sent_any_more(workspace, bot, wire, receiver, db_clock, step, ordered):
    made = await endpoint(workspace, receiver.url, "lead.created", "lead.deleted")
    if ordered:
        await changes.configure(workspace, made.id, EndpointChange(ordered=True))
    lead = await make.lead(workspace, bot)
    await step(wire, receiver)
    before = len(receiver.deliveries)
    receiver.answer, receiver.echo = 204, False
    await erasure.erase_lead(workspace, lead.id)
    if step is not recorded:
        event = await db.value("SELECT id FROM event WHERE kind = 'lead.created'")
        assert await redriven(workspace, event) == 0
    await redrives.start(workspace, Selection(endpoint_id=made.id), 1000)
    await quarantine.release()
    for seconds in (0, 31, 86_400):
        await db_clock.forward(seconds)
        await wire.turn()
    assert [one.event for one in receiver.deliveries[before:]] == ["lead.deleted"]
    ends = {recorded: {"delivered": 1}, delivered: {"delivered": 2}}
    assert await states() == ends.get(step, {"delivered": 1, "cancelled": 1})
    stored = await make.stored()
    assert not [row for rows in stored.values() for row in rows if "ada@example.com" in row]
    assert await db.value("SELECT count(*) FROM event WHERE kind = 'lead.created' AND body <> ''") == 0
    assert await broken(wire) == []


async def test_a_post_under_way_ends_and_leaves_nothing_of_the_answer(workspace, bot, wire, receiver, db_clock):
    """It cannot be called back. Its outcome does not count, whether it is a failure or not."""
    await endpoint(workspace, receiver.url)
    lead = await make.lead(workspace, bot)
    await wire.relay()
    receiver.answer, receiver.echo = 500, True
    done = await wire.post(await wire.claim())
    assert done[0].response_body
    await erasure.erase_lead(workspace, lead.id)
    await wire.settle(done)
    assert await states() == {"cancelled": 1}
    kept = await db.row("SELECT counted, response_body FROM attempt")
    assert tuple(kept) == (False, None)
    await db_clock.forward(86_400)
    assert await wire.turn() == []


async def test_a_claim_after_it_sends_nothing(workspace, bot, wire, receiver):
    """The entry was read before."""
    await endpoint(workspace, receiver.url)
    lead = await make.lead(workspace, bot)
    await wire.relay()
    read = await wire.read()
    await erasure.erase_lead(workspace, lead.id)
    assert await wire.claim_as("first", read) == []
    assert await states() == {"cancelled": 1}
