"""Live streams: a bounded number for a session, and none for a session that has ended."""

import asyncio

import pytest

from leadwire.domain.accounts.sign_in.changes import sessions
from leadwire.domain.conversations import pubsub
from leadwire.domain.conversations.pubsub import hub
from leadwire.infrastructure import db
from leadwire.infrastructure.errors import NotFound
from leadwire.interfaces.web import live_updates

CHANGED, DONE = b"event: changed\ndata:\n\n", b"event: done\ndata:\n\n"


@pytest.fixture
async def me(agent):
    return await sessions.person(agent.cookies["leadwire"], agent.address)


async def never():
    return 0, False


@pytest.fixture(params=["inbox", "delivery"])
def opened(request, workspace, me):
    """Opens one more stream of the session."""
    if request.param == "inbox":
        return lambda: live_updates._listen((workspace, ""), me, "", inbox=True)
    return lambda: live_updates._poll(never, me)


async def test_a_session_has_twelve_streams(opened):
    streams = [opened() for _ in range(400)]
    first = [await anext(stream) for stream in streams]
    assert first.count(DONE) == 388
    assert DONE not in first[:12]
    for stream in streams:
        await stream.aclose()
    assert not live_updates._open
    again = opened()
    assert await anext(again) != DONE
    await again.aclose()


async def test_a_stream_too_many_tells_nobody_that_its_user_has_left(workspace, me, redis):
    """The user looks at the conversation in twelve other tabs."""
    listening = asyncio.create_task(hub.listen())
    streams = [live_updates._listen((workspace, "conv_x"), me, "user_x", inbox=True) for _ in range(13)]
    try:
        with hub.watch(workspace, "conv_x", ("left", "changed")) as watch:
            await watch.changed(60)  # it listens
            assert [await anext(stream) for stream in streams][12] == DONE
            await streams.pop().aclose()
            pubsub.publish(workspace, "conv_x")
            assert await watch.changed(60) == {("conv_x", "changed")}
    finally:
        for stream in streams:
            await stream.aclose()
        listening.cancel()


_DEMOTED = "UPDATE user_account SET role = 'viewer'"


@pytest.mark.parametrize("end", ["DELETE FROM user_session", "DELETE FROM user_account", _DEMOTED])
async def test_nothing_is_told_after_the_session_has_ended(workspace, me, end):
    stream = live_updates._listen((workspace, ""), me, "", inbox=True)
    await anext(stream)
    hub.wake_all()
    assert await anext(stream) == CHANGED
    await db.rows(end)
    hub.wake_all()
    with pytest.raises(StopAsyncIteration):
        await anext(stream)


async def test_a_followed_delivery_ends_with_the_session(me):
    looks = iter(range(10))

    async def look():
        return next(looks), False

    stream = live_updates._poll(look, me)
    assert await anext(stream) == CHANGED
    await db.rows("UPDATE user_session SET seen_at = seen_at - interval '1 day'")
    await anext(stream)  # the rest of this look
    with pytest.raises(StopAsyncIteration):
        await anext(stream)


async def test_a_stream_of_what_is_gone_ends_and_is_no_fault_of_ours(me):
    looks = iter([1, 2])

    async def look():
        if (now := next(looks, None)) is None:
            raise NotFound("There is no such endpoint.")
        return now, False

    assert [told async for told in live_updates._poll(look, me) if told == CHANGED] == [CHANGED]
    assert not live_updates._open


async def test_a_process_that_stops_waits_for_no_stream(opened, monkeypatch):
    stream = opened()
    await anext(stream)
    monkeypatch.setattr(hub, "leaving", True)
    hub.wake_all()
    rest = [part async for part in stream]
    assert len(rest) <= 1  # of the look that has begun
