"""Who follows goes on through every outage, from where it was, and ends where asking again is no use."""

import asyncio
import contextlib
import logging

import httpx
import pytest
from ops.chaos.journal import free_port

from leadwire.delivery import pull
from leadwire.domain.webhooks import receivers
from leadwire.infrastructure import settings
from leadwire_client import ApiError, AsyncLeadwire, AsyncReceiver, Leadwire, Retry
from tests.client.feed import EVENTS, PLACES, Feed
from tests.delivery.test_delivery import states
from tests.delivery.test_numbers import people
from tests.delivery.test_pull import puller_of
from tests.serving import on_socket

AT_ONCE = Retry(first_wait=0)


async def test_a_follower_outlives_every_failure_and_ends_at_a_4xx(caplog):
    feed, came = Feed(), []
    async with on_socket(feed) as address, AsyncLeadwire("lw_1", address, retry=AT_ONCE) as lw:
        with caplog.at_level(logging.WARNING, "leadwire_client"), pytest.raises(ApiError) as ended:
            await _follow(lw, came)
    assert (came, ended.value.status) == ([*EVENTS], 410)
    assert feed.as_followed()
    said = {record.getMessage() for record in caplog.records if record.name == "leadwire_client"}
    assert {"the answer is 503; asking again in 0.0 s", "the answer is not whole; asking again in 0.0 s"} <= said


async def _follow(lw, came):
    async for event in lw.events.list(follow=True):
        came.append(event.id)


async def test_a_blocking_follower_does_alike():
    feed, came = Feed(), []

    def follow(address):
        with Leadwire("lw_1", address, retry=AT_ONCE) as lw:
            came.extend(event.id for event in _until_refused(lw.events.list(follow=True)))

    async with on_socket(feed) as address:
        await asyncio.to_thread(follow, address)
    assert came == [*EVENTS]
    assert feed.as_followed()


def _until_refused(events):
    with contextlib.suppress(ApiError):
        yield from events


class Counting(httpx.AsyncHTTPTransport):
    """Sockets, and whether they were refused 30 times: more often than any call asks."""

    def __init__(self):
        super().__init__()
        self.refused, self.enough = 0, asyncio.Event()

    async def handle_async_request(self, request):
        try:
            return await super().handle_async_request(request)
        except httpx.ConnectError:
            self.refused += 1
            if self.refused == 30:
                self.enough.set()
            raise


async def test_the_service_is_stopped_and_started_under_a_follower():
    feed, transport, port = Feed(), Counting(), free_port()
    feed.answers = iter([200, 200, 200, 200, 410])
    address = f"http://127.0.0.1:{port}"
    async with AsyncLeadwire("lw_1", address, transport=transport, retry=AT_ONCE) as lw:
        events = lw.events.list(follow=True)
        async with on_socket(feed, port):
            came = [(await anext(events)).id]
        going_on = asyncio.ensure_future(anext(events))
        await transport.enough.wait()
        async with on_socket(feed, port):
            came.append((await going_on).id)
            with pytest.raises(ApiError):
                came.extend([event.id async for event in events])
    assert came[:2] == [*EVENTS[:2]]
    assert feed.asked == [*PLACES]


class Refusing(httpx.AsyncBaseTransport):
    """A service that answers once it has refused `times` connections."""

    def __init__(self, real, times):
        self.real, self.times = real, times

    async def handle_async_request(self, request):
        if self.times:
            self.times -= 1
            raise httpx.ConnectError("connection refused", request=request)
        return await self.real.handle_async_request(request)


async def test_deliveries_go_on_behind_an_outage_and_what_could_not_be_acknowledged_comes_again(
    workspace, bot, wire, in_process, db_clock
):
    made = await puller_of(workspace)
    token = await receivers.make_token(workspace, made.id)
    transport = Refusing(in_process, 30)
    await people(workspace, bot, 1)
    await wire.relay()
    retry = Retry(first_wait=0, attempts=40)
    asking = AsyncReceiver(token, "http://test", made.secret, transport=transport, retry=retry)
    async with asking, contextlib.aclosing(asking.deliveries()) as deliveries:
        first = await anext(deliveries)
        transport.times = 40
        assert not await first.acknowledge()
        await db_clock.forward(31)
        assert await pull.expire(settings.get()) == 1
        await db_clock.forward(61)
        transport.times = 30
        again = await anext(deliveries)
        assert await again.acknowledge()
    assert again.event.id == first.event.id
    assert await states() == {"delivered": 1}
