"""A receiver asks with its token: over the real API, as a program of a customer does."""

import asyncio
import contextlib
import sqlite3

import httpx
import msgspec
import pytest

from leadwire.delivery import signing
from leadwire.domain.webhooks import receivers
from leadwire.infrastructure import clock, db
from leadwire_client import (
    AsyncReceiver,
    Invalid,
    InvalidSignature,
    Receiver,
    Retry,
    Unauthenticated,
    Unreachable,
    Unreadable,
    compare,
    verify,
)
from leadwire_client.inbox import NUMBER_TABLE, TABLE, once
from leadwire_development import verifying
from tests import make
from tests.delivery.test_numbers import numbered, people


@pytest.fixture
async def made(workspace, receiver):
    return await numbered(workspace, receiver)


@pytest.fixture
async def secret(made, workspace):
    return (await receivers.rotation.reveal(workspace, made))[0]


@pytest.fixture
async def asking(made, secret, workspace, in_process):
    token = await receivers.make_token(workspace, made)
    async with AsyncReceiver(token, "http://test", secret, transport=in_process, retry=Retry(first_wait=0)) as one:
        yield one


def keep(connection, delivery):
    with once(connection, delivery.webhook_id, number=delivery.headers["x-service-sequence"]):
        pass


async def test_a_hole_at_the_end_is_seen_and_sent_again(workspace, bot, wire, receiver, asking):
    await people(workspace, bot, 4)
    await wire.turn()
    connection = sqlite3.connect(":memory:")
    connection.executescript(f"{TABLE}; {NUMBER_TABLE}")
    for one in receiver.deliveries:
        if one.headers["x-service-sequence"] in "12":
            keep(connection, one)
    missing, differs, complete = compare(connection, await asking.checkpoint())
    assert (missing, differs, complete) == ([(3, 4)], False, 2)
    receiver.deliveries.clear()
    assert [await asking.replay(*hole) for hole in missing] == [2]
    assert compare(connection, await asking.checkpoint(complete)) == ([], False, 2), "they are on their way"
    await wire.turn()
    assert sorted(one.headers["x-service-sequence"] for one in receiver.deliveries) == ["3", "4"]
    for one in receiver.deliveries:
        keep(connection, one)
    assert compare(connection, await asking.checkpoint(complete)) == ([], False, 4)
    connection.close()


class _Lost(httpx.AsyncBaseTransport):
    """A connection that breaks before the first answer has come back."""

    def __init__(self, through):
        self.through, self.broken = through, False

    async def handle_async_request(self, request):
        answer = await self.through.handle_async_request(request)
        if self.broken:
            return answer
        self.broken = True
        raise httpx.ReadError("broken", request=request)


class _Busy(_Lost):
    """A proxy that refuses the first request."""

    async def handle_async_request(self, request):
        if self.broken:
            return await self.through.handle_async_request(request)
        self.broken = True
        return httpx.Response(429, headers={"Retry-After": "0"})


@pytest.mark.parametrize("asked", ["event", "since", "dead", "numbers"])
async def test_what_is_asked_for_again_is_sent_again_once(workspace, bot, wire, made, secret, in_process, asked):
    """Not where the answer was lost: what was asked for may have arrived meanwhile."""
    lead = await make.somebody(workspace, bot)
    await wire.turn()
    event_id = await db.value("SELECT max(event_id) FROM delivery_result")
    if asked == "dead":
        await db.rows("DELETE FROM delivery_result")
        await make.ended(event_id, made, "dead")
    token = await receivers.make_token(workspace, made)
    call, given = {
        "event": ("redrive", {"event_id": event_id}),
        "since": ("redrive", {"since": clock.parse(lead.created_at)}),
        "dead": ("redrive", {}),
        "numbers": ("replay", {"first": 1, "last": 1}),
    }[asked]
    for through, jobs in ((_Lost(in_process), 1), (_Busy(in_process), 2)):
        async with AsyncReceiver(token, "http://test", secret, transport=through, retry=Retry(first_wait=0)) as one:
            with contextlib.suppress(Unreachable):
                await getattr(one, call)(**given)
        assert await db.value("SELECT count(*) FROM redrive_job") == jobs
        await wire.turn()


async def test_a_blocking_receiver_asks_alike(base_url, workspace, bot, wire, receiver, made, secret):
    token = await receivers.make_token(workspace, made)
    await people(workspace, bot, 2)
    await wire.turn()

    def ask():
        with Receiver(token, base_url, [signing.new_secret(), secret]) as one:
            return one.checkpoint(1), one.replay(2, 2)

    checkpoint, replayed = await asyncio.to_thread(ask)
    assert (checkpoint.last, checkpoint.count, replayed) == (2, 1, 1)


async def test_a_checkpoint_that_nobody_signed_is_refused(workspace, made, in_process, secret, asking):
    token = await receivers.make_token(workspace, made)
    async with AsyncReceiver(token, "http://test", signing.new_secret(), transport=in_process) as other:
        with pytest.raises(InvalidSignature):
            await other.checkpoint()
    with pytest.raises(Unauthenticated):
        await asking.checkpoint()  # another token has replaced its own


async def test_a_checkpoint_is_no_event_and_an_event_no_checkpoint(
    workspace, bot, wire, receiver, made, secret, in_process
):
    token = await receivers.make_token(workspace, made)
    await people(workspace, bot, 1)
    await wire.turn()
    (delivery,) = receiver.deliveries
    asked = httpx.AsyncClient(transport=in_process, headers={"Authorization": f"Bearer {token}"})
    async with asked as client:
        answer = await client.get("http://test/receiver/v1/checkpoint")
    assert answer.headers["webhook-id"].startswith("chk_")
    assert set(msgspec.json.decode(answer.content)) == {"checkpoint"}
    verifying.verify(answer.content, answer.headers, secret, now=int(answer.headers["webhook-timestamp"]))
    with pytest.raises(Unreadable):
        verify(answer.content, answer.headers, secret)

    async def instead(_request, content=delivery.body, headers=delivery.headers):
        return httpx.Response(200, headers=dict(headers), content=content)

    async with AsyncReceiver(token, "http://test", secret, transport=httpx.MockTransport(instead)) as other:
        with pytest.raises(Unreadable):
            await other.checkpoint()

    async def earlier(_request):
        return answer

    async with AsyncReceiver(token, "http://test", secret, transport=httpx.MockTransport(earlier)) as other:
        assert (await other.checkpoint(0)).last == 1
        with pytest.raises(Unreadable, match="after 0, not after 1"):
            await other.checkpoint(1)


async def test_the_errors_of_a_replay_are_raised(workspace, bot, wire, receiver, asking):
    for first, last in ((3, 2), (1, 1001), (-1, 1)):
        with pytest.raises(Invalid):
            await asking.replay(first, last)
    assert await asking.replay(9, 9) == 0
    assert await db.value("SELECT count(*) FROM delivery") == 0


async def test_a_redrive_since_a_time_without_a_zone_is_refused(asking):
    """The server would take it for UTC: another time, and with nothing to send again there is no error."""
    with pytest.raises(ValueError, match="time zone"):
        await asking.redrive(since=clock.now().replace(tzinfo=None))
    assert await db.value("SELECT count(*) FROM redrive_job") == 0
    assert (await asking.redrive(since=clock.now())).total == 0
