"""What waits for an endpoint is canceled in batches, and nothing is left behind, whatever comes meanwhile."""

import pytest

from leadwire.delivery.endpoints import discard
from leadwire.delivery.relay import fan_out as fan_out_module
from leadwire.delivery.relay.fan_out import fan_out
from leadwire.delivery.worker.claim import put_back
from leadwire.domain.webhooks import changes
from leadwire.infrastructure import db
from tests import jobs, make
from tests.delivery.interleaved import Held, apart, blocked
from tests.delivery.test_delivery import broken, states
from tests.delivery.wired import endpoint


@pytest.fixture
def small(monkeypatch):
    """Batches of two."""
    monkeypatch.setattr(discard, "BATCH", 2)


async def waiting(workspace, bot, count: int) -> None:
    for _ in range(count):
        await make.somebody(workspace, bot)
    while (await fan_out()).events:
        pass


async def until_done() -> list[int]:
    batches = [await jobs.discard()]
    while batches[-1]:
        batches.append(await jobs.discard())
    assert await db.value("SELECT count(*) FROM discard") == 0
    return batches


async def test_it_goes_in_batches_and_then_the_endpoint_goes_on(workspace, bot, wire, receiver, small):
    made, other = await endpoint(workspace, receiver.url), await endpoint(workspace, receiver.url)
    await waiting(workspace, bot, 5)
    assert await discard.count(made.id) == 5
    await discard.start(made.id)
    assert await until_done() == [2, 2, 1, 0]
    assert await states() == {"cancelled": 5, "waiting": 5}
    assert await discard.count(other.id) == 5, "nothing of others"
    await waiting(workspace, bot, 1)
    assert len(await wire.turn()) == 7
    assert await broken(wire) == []


async def test_what_comes_after_it_was_asked_for_stays(workspace, bot, wire, receiver, small):
    made = await endpoint(workspace, receiver.url)
    await waiting(workspace, bot, 3)
    await discard.start(made.id)
    assert await jobs.discard() == 2
    await waiting(workspace, bot, 1)
    assert await until_done() == [1, 0]
    assert await states() == {"cancelled": 3, "waiting": 1}


async def test_a_second_call_includes_what_came_meanwhile(workspace, bot, wire, receiver, small):
    made = await endpoint(workspace, receiver.url)
    await waiting(workspace, bot, 3)
    await discard.start(made.id)
    assert await jobs.discard() == 2
    await waiting(workspace, bot, 1)
    await discard.start(made.id)
    assert await until_done() == [2, 0]
    assert await states() == {"cancelled": 4}


async def test_what_is_being_sent_goes_on_and_its_retry_stays(workspace, bot, wire, receiver, db_clock):
    made = await endpoint(workspace, receiver.url)
    await waiting(workspace, bot, 1)
    await wire.relay()
    jobs = await wire.claim()
    await discard.start(made.id)
    await until_done()
    receiver.answer = 500
    await wire.settle(await wire.post(jobs))
    receiver.answer = 204
    await db_clock.forward(60)
    await wire.turn()
    assert await states() == {"delivered": 1}


async def test_in_an_order_what_came_meanwhile_goes_on(in_order, wire, small):
    """It was made behind others that are canceled by now."""
    lead = await in_order.lead()
    await in_order.score(lead, 1, 2, 3)
    await fan_out()
    await discard.start(in_order.endpoint_id)
    assert await jobs.discard() == 2
    await in_order.score(lead, 4, 5)
    await fan_out()
    assert await until_done() == [1, 0]
    for _ in range(3):
        await wire.turn()
    assert in_order.told() == [4, 5]
    assert await broken(wire) == []


async def test_in_an_order_what_comes_follows_the_one_that_is_being_sent(in_order, wire, db_clock):
    lead = await in_order.lead()
    await in_order.score(lead, 1, 2)
    await wire.relay()
    jobs = await wire.claim()
    await discard.start(in_order.endpoint_id)
    assert await until_done() == [1, 0]
    await in_order.score(lead, 3)
    assert await wire.relay() == 0
    await wire.settle(await wire.post(jobs))
    await wire.turn()
    assert in_order.told() == [1, 3]


async def test_a_retry_of_an_endpoint_that_is_gone_is_canceled(workspace, bot, wire, receiver):
    """The POST was under way when the relay had canceled all there was."""
    made = await endpoint(workspace, receiver.url)
    await waiting(workspace, bot, 1)
    await wire.relay()
    jobs = await wire.claim()
    await changes.delete(workspace, made.id)
    await wire.relay()
    receiver.answer = 500
    await wire.settle(await wire.post(jobs))
    await wire.relay()
    assert await states() == {"cancelled": 1}
    assert await db.value("SELECT count(*) FROM attempt WHERE counted") == 1


async def test_what_is_put_back_of_an_endpoint_that_is_gone_is_canceled(workspace, bot, wire, receiver):
    """A worker had no place for it."""
    made = await endpoint(workspace, receiver.url)
    await waiting(workspace, bot, 1)
    await wire.relay()
    (entry,) = await wire.read()
    await changes.delete(workspace, made.id)
    await wire.relay()
    await put_back([entry.key], wire.consumer, {made.id: (1, 0.2)})
    await wire.relay()
    assert await states() == {"cancelled": 1}


async def test_what_a_relay_made_while_the_endpoint_was_removed_is_canceled(
    workspace, bot, wire, receiver, monkeypatch
):
    """The relay has the endpoint when the removal comes, and makes its deliveries after that was begun."""
    made = await endpoint(workspace, receiver.url)
    await make.somebody(workspace, bot)
    making = Held(fan_out_module._FAN_OUT)
    monkeypatch.setattr(fan_out_module, "_FAN_OUT", making)
    fanning = apart(fan_out())
    await making.reached.wait()
    deleting = apart(changes.delete(workspace, made.id))
    await blocked()
    making.go.set()
    assert (await fanning).waiting == 1
    await deleting
    await wire.relay()
    assert await states() == {"cancelled": 1}


async def test_nobody_asked_is_nothing_to_do(workspace, bot, wire, receiver):
    await endpoint(workspace, receiver.url)
    await make.lead(workspace, bot)
    await fan_out()
    assert await jobs.discard() == 0
    assert await states() == {"waiting": 1}
