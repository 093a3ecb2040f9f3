"""A queue is read from its front on. What lies before it, which only another version or a transaction that took long
can have put there, is found some seconds later.
"""

import time
from types import SimpleNamespace

import pytest

from leadwire.delivery.relay import admit, queue_front
from leadwire.delivery.relay.fan_out import OutboxFront, fan_out
from leadwire.delivery.relay.loop import Relay
from leadwire.delivery.worker.claim import put_back
from leadwire.domain.webhooks import changes
from leadwire.domain.webhooks.schema import EndpointChange
from leadwire.infrastructure import db
from tests import make
from tests.delivery.wired import endpoint


@pytest.fixture
def later(monkeypatch):
    """Let so many seconds pass for the relay."""

    def pass_(seconds: float) -> None:
        monkeypatch.setattr(queue_front, "time", SimpleNamespace(monotonic=lambda: time.monotonic() + seconds))

    return pass_


@pytest.fixture
async def rated(workspace, receiver):
    """An endpoint that admission has looked at."""
    made = await endpoint(workspace, receiver.url)
    await changes.configure(workspace, made.id, EndpointChange(rate_limit=60_000))
    await admit.admit()
    return made.id


async def test_what_waits_before_the_front_of_its_endpoint(workspace, bot, wire, rated, db_clock):
    await make.somebody(workspace, bot)
    await fan_out()
    await db.rows("UPDATE webhook_endpoint SET waiting_from = 'infinity'")
    assert await admit.admit() == []
    await db_clock.forward(16)
    assert len(await admit.admit()) == 1


async def test_what_is_put_back_waits_behind_no_front(workspace, bot, wire, rated):
    for _ in range(2):
        await make.somebody(workspace, bot)
        await wire.relay()
    entries = await wire.read()
    await admit.admit()
    await put_back([entry.key for entry in entries], wire.consumer, {})
    assert len(await admit.admit()) == 2


async def test_an_endpoint_that_was_due_before_the_front(workspace, bot, rated, later):
    looking = queue_front.Front(admit.ALWAYS)
    for seconds, queued in ((0, 0), (0, 0), (6, 1)):
        later(seconds)
        assert len(await admit.admit(front=looking)) == queued
        if not seconds and not await db.value("SELECT count(*) FROM delivery"):
            await make.somebody(workspace, bot)
            await fan_out()
            await db.rows("UPDATE webhook_endpoint SET due_at = now() - interval '1 hour'")
            looking.at(await db.value("SELECT now()"))


async def test_an_event_that_was_committed_late(workspace, bot, rated, later):
    """Seconds late, nothing is lost of its place; much later it is found by the next look at the whole queue."""
    looking = OutboxFront()
    places = []
    for look in range(6):
        later(6 * look)
        await make.somebody(workspace, bot)
        places.append(await db.value("SELECT position FROM outbox"))
        assert (await fan_out(front=looking)).events == 1
    for place, found in ((places[3], 1), (places[0], 0)):
        await make.somebody(workspace, bot)
        await db.rows("UPDATE outbox SET position = $1", place)
        assert (await fan_out(front=looking)).events == found
    later(36)
    assert (await fan_out(front=looking)).events == 1


async def test_a_window_that_may_be_full_is_counted(workspace, bot, wire, rated):
    await make.somebody(workspace, bot)
    await fan_out()
    await db.rows("UPDATE webhook_endpoint SET queued = admission_window")
    assert len(await admit.admit()) == 1
    assert await db.value("SELECT queued FROM webhook_endpoint") == 1


async def test_a_full_window_is_counted_from_its_front(workspace, bot, wire, rated, db_clock):
    """What is before it is found at the next look at the whole queue."""
    for queued in (1, 2):
        await make.somebody(workspace, bot)
        await wire.relay()
        await db.rows("UPDATE webhook_endpoint SET queued = admission_window")
        await admit.admit(woken={rated})
        assert await db.value("SELECT queued FROM webhook_endpoint") == queued
    first, last = [row["event_id"] for row in await db.rows("SELECT event_id FROM delivery ORDER BY event_id")]
    assert await db.value("SELECT queued_from FROM webhook_endpoint") == first
    for passed, queued in ((0, 1), (16, 2)):
        await db_clock.forward(passed)
        await db.rows("UPDATE webhook_endpoint SET queued = admission_window, queued_from = $1", last)
        await admit.admit(woken={rated})
        assert await db.value("SELECT queued FROM webhook_endpoint") == queued


async def test_a_busy_endpoint_keeps_its_due_time(workspace, bot, wire, rated):
    """The relay that has made deliveries admits them at once, and their success makes room for nothing that waits."""
    relay = Relay(wire.redis, wire.settings)
    due = set()
    for _ in range(3):
        await make.somebody(workspace, bot)
        await relay.fan_out()
        await relay.admit()
        assert len(await wire.deliver()) == 1
        due.add(await db.value("SELECT due_at FROM webhook_endpoint"))
    assert len(due) == 1


async def test_what_a_relay_did_not_admit_any_more_is_admitted_later(workspace, bot, wire, rated, db_clock):
    """It has made the deliveries, and died."""
    await make.somebody(workspace, bot)
    await wire.relay()
    await make.somebody(workspace, bot)
    assert (await fan_out(soon=20)).endpoints == {rated}
    assert await admit.admit() == []
    await db_clock.forward(16)
    assert len(await admit.admit()) == 1


async def test_a_success_wakes_an_endpoint_for_which_more_waits(workspace, bot, wire, rated):
    await db.rows("UPDATE webhook_endpoint SET admission_window = 1")
    for _ in range(2):
        await make.somebody(workspace, bot)
        await wire.relay()
    assert await admit.admit() == []
    done = await wire.post(await wire.claim())
    await db.rows("UPDATE webhook_endpoint SET due_at = now() + interval '1 second'")
    await wire.settle(done)
    assert len(await admit.admit()) == 1


async def test_the_front_of_an_order_goes_back_for_an_event_that_was_committed_late(in_order, wire):
    await in_order.score(await in_order.lead(), 1)
    await db.rows("UPDATE webhook_endpoint SET ordered_from = (SELECT position FROM outbox) + 100")
    await fan_out()
    assert await db.value("SELECT ordered_from = position FROM webhook_endpoint, delivery")
