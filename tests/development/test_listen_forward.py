"""`leadwire listen --forward` as a real process: the events of an installation reach a program of a developer."""

import asyncio
import json
import signal

import pytest

from leadwire.delivery import pull
from leadwire.domain.webhooks import reads
from leadwire.infrastructure import clock, db, settings
from leadwire_development import verifying
from leadwire_development.receiver import Receiver
from tests import make
from tests.delivery.test_delivery import states
from tests.flows.commands import Started, refused, run, settings_on
from tests.waiting import eventually


@pytest.fixture
def access(servers):
    """The settings of a command that acts on the tests' servers."""
    return settings_on(servers)


@pytest.fixture
def forwarding(access, receiver):
    """Start one with these options."""
    started = []

    def start(*options):
        started.append(Started("listen", "--json", "--forward", receiver.url, *options, **access))
        return started[-1]

    yield start
    for one in started:
        one.close()


async def lines(process, count):
    """What it has printed, once that is so many lines."""
    await eventually(lambda: process.out.count("\n") >= count)
    return [json.loads(line) for line in process.out.splitlines()]


async def endpoints(workspace):
    return [one.id for one in await reads.endpoints(workspace)]


async def test_events_arrive_signed_and_the_endpoint_goes_with_the_command(workspace, bot, wire, receiver, forwarding):
    process = forwarding("--event", "lead.created")
    (begun,) = await lines(process, 1)
    assert await endpoints(workspace) == [begun["endpoint"]]
    await make.lead(workspace, bot)
    await wire.relay()
    (arrived,) = await receiver.received(1)
    verifying.verify(arrived.body, arrived.headers, begun["secret"], now=int(clock.now().timestamp()))
    _, seen = await lines(process, 2)
    assert (seen["verified"], seen["status"], seen["event"]) == (True, 204, "lead.created")
    assert seen["webhook_id"] == arrived.webhook_id

    async def delivered():
        return await states() == {"delivered": 1}

    await eventually(delivered)
    assert await asyncio.to_thread(process.signal) == 0
    assert await endpoints(workspace) == []


async def test_what_the_program_refuses_is_tried_again(workspace, bot, wire, receiver, forwarding):
    receiver.answer = 503
    process = forwarding("--event", "lead.created")
    await lines(process, 1)
    await make.lead(workspace, bot)
    await wire.relay()
    _, seen = await lines(process, 2)
    assert (seen["status"], seen["reason"]) == (503, None)
    assert await states() == {"queued": 1}
    await db.rows("UPDATE delivery SET lease_until = now()")
    assert await pull.expire(settings.get()) == 1
    assert await states() == {"waiting": 1}


async def test_what_a_slow_program_has_not_come_to_is_in_nobodys_hands(workspace, bot, wire, receiver, forwarding):
    """Else its time to be acknowledged is over before the program has it."""
    receiver.hang()
    process = forwarding("--event", "lead.created")
    await lines(process, 1)
    for _ in range(2):
        await make.somebody(workspace, bot)
    await wire.relay()
    await receiver.received(1)
    assert await states() == {"queued": 1, "waiting": 1}


async def test_only_the_kinds_that_are_wanted(workspace, bot, wire, receiver, forwarding):
    process = forwarding("--event", "lead.updated")
    await lines(process, 1)
    (one,) = await reads.endpoints(workspace)
    assert one.events == ["lead.updated"]


async def test_one_that_was_killed_is_replaced(workspace, forwarding):
    process = forwarding()
    (first,) = await lines(process, 1)
    process.signal(signal.SIGKILL)
    assert await endpoints(workspace) == [first["endpoint"]]
    (second,) = await lines(forwarding(), 1)
    assert await endpoints(workspace) == [second["endpoint"]]


@pytest.mark.parametrize("address", ["nonsense", "ftp://localhost/", "http://", "http://[::1"])
def test_an_address_that_nothing_can_be_sent_to(address, tmp_path):
    assert "--forward needs an address" in refused(run("listen", "--forward", address, DATA_DIR=str(tmp_path)))


async def test_a_program_that_is_not_there_is_said(workspace, bot, wire, access):
    process = Started("listen", "--json", "--forward", "http://127.0.0.1:1/hooks", "--event", "lead.created", **access)
    try:
        await lines(process, 1)
        await make.lead(workspace, bot)
        await wire.relay()
        _, seen = await lines(process, 2)
        assert seen["status"] == 502
        assert seen["reason"].startswith("http://127.0.0.1:1/hooks does not answer")
    finally:
        process.close()


async def test_nothing_that_is_not_signed_is_sent_on_whatever_is_answered():
    sent_on = []

    async def forward(body, headers):
        sent_on.append(body)
        return 204, None

    shown = []
    listening = Receiver("whsec_c2VjcmV0c2VjcmV0", status=401, fail_first=0, delay=0, show=shown.append)
    listening.forward = forward
    assert await listening.take(b"{}", {"webhook-id": "evt_1"}) == 401
    assert (sent_on, shown[0].verified) == ([], False)
