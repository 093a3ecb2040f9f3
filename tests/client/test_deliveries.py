"""The deliveries of an endpoint whose receiver fetches, as an asynchronous iterator of the client."""

import asyncio
import sqlite3
from contextlib import aclosing

import pytest
from msgspec import structs

from leadwire.delivery import pull, signing
from leadwire.domain.webhooks import receivers
from leadwire.infrastructure import settings
from leadwire_client import AsyncReceiver, InvalidSignature, Receiver, Retry
from leadwire_client.inbox import NUMBER_TABLE, TABLE, once
from tests.clock import DatabaseClock
from tests.delivery.test_delivery import states
from tests.delivery.test_numbers import people
from tests.delivery.test_pull import puller_of


@pytest.fixture
async def made(workspace):
    return await puller_of(workspace, numbered=True)


@pytest.fixture
async def token(workspace, made):
    return await receivers.make_token(workspace, made.id)


def receiving(token, secret, transport):
    return AsyncReceiver(token, "http://test", secret, transport=transport, retry=Retry(first_wait=0))


async def test_events_come_one_after_the_other_and_take_effect_once(workspace, bot, wire, made, token, in_process):
    """The receiver dies after the first has taken effect; the next one goes on, and finds it again."""
    connection = sqlite3.connect(":memory:")
    connection.executescript(f"{TABLE}; {NUMBER_TABLE}; CREATE TABLE effect (email text)")

    def handle(delivery):
        with once(connection, delivery.event.id, number=delivery.number) as first:
            if first:
                connection.execute("INSERT INTO effect VALUES (?)", [delivery.event.data.email])

    expected = {lead.email for lead in await people(workspace, bot, 3)}
    await wire.relay()
    async with receiving(token, made.secret, in_process) as one, aclosing(one.deliveries(limit=3)) as deliveries:
        handle(await anext(deliveries))
    assert await states() == {"queued": 3}
    await wire_time(3)
    async with receiving(token, made.secret, in_process) as one, aclosing(one.deliveries()) as deliveries:
        for _ in range(3):
            delivery = await anext(deliveries)
            handle(delivery)
            assert await delivery.acknowledge()
    assert await states() == {"delivered": 3}
    assert sorted(row[0] for row in connection.execute("SELECT email FROM effect")) == sorted(expected)
    assert [row[0] for row in connection.execute("SELECT number FROM webhook_number ORDER BY 1")] == [1, 2, 3]
    connection.close()


async def test_the_number_is_told_whatever_prefix_the_headers_have(
    workspace, bot, wire, made, token, in_process, monkeypatch
):
    chosen = structs.replace(settings.get(), header_prefix="Acme-")
    monkeypatch.setattr(settings, "get", lambda: chosen)
    await people(workspace, bot, 1)
    await wire.relay()
    async with receiving(token, made.secret, in_process) as one, aclosing(one.deliveries()) as deliveries:
        assert (await anext(deliveries)).number == "1"


async def wire_time(count):
    """The leases end, and the retries are due."""
    await DatabaseClock().forward(31)
    assert await pull.expire(settings.get()) == count
    await DatabaseClock().forward(61)


async def test_an_acknowledgement_that_comes_too_late_says_so(workspace, bot, wire, made, token, in_process, db_clock):
    await people(workspace, bot, 1)
    await wire.relay()
    async with receiving(token, made.secret, in_process) as one, aclosing(one.deliveries()) as deliveries:
        delivery = await anext(deliveries)
        await db_clock.forward(31)
        assert not await delivery.acknowledge()


async def test_what_nobody_signed_is_refused(workspace, bot, wire, token, made, in_process):
    await people(workspace, bot, 1)
    await wire.relay()
    async with receiving(token, signing.new_secret(), in_process) as one, aclosing(one.deliveries()) as deliveries:
        with pytest.raises(InvalidSignature):
            await anext(deliveries)


async def test_deliveries_whose_time_is_over_are_skipped(workspace, bot, wire, token, made, in_process, monkeypatch):
    await people(workspace, bot, 3)
    await wire.relay()
    async with receiving(token, made.secret, in_process) as one, aclosing(one.deliveries(limit=2)) as deliveries:
        first = await anext(deliveries)
        monkeypatch.setattr("leadwire_client.receiver.time", _Later)
        third = await anext(deliveries)
    assert (first.number, third.number) == ("1", "3")


class _Later:
    times = iter([10**9, 0.0, 0.0])  # of the second, which is late; of the next batch

    @classmethod
    def monotonic(cls):
        return next(cls.times)


async def test_a_blocking_receiver_fetches_alike(workspace, bot, wire, token, made, base_url):
    await people(workspace, bot, 1)
    await wire.relay()

    def fetch():
        with Receiver(token, base_url, made.secret) as one:
            batch = one.fetch(wait=0)
            return one.acknowledge(batch.lease, [batch.deliveries[0].headers["webhook-id"], "evt_other"])

    found = await asyncio.to_thread(fetch)
    assert (len(found.acknowledged), found.late) == (1, ["evt_other"])
