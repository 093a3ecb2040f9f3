"""Waking requests that wait for the next event of a workspace, in any process, right after its commit.

Redis is told the workspace and the kind, nothing else. A wake-up that is lost costs time, never an event: whoever waits
looks at intervals as well. A process listens only while somebody waits in it, and for a minute longer.
"""

import asyncio
import contextlib
import contextvars
import logging
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from leadwire.infrastructure import redis_pool, telemetry
from leadwire.infrastructure.backoff import Backoff

_PREFIX: Final = "leadwire:feed:"
_EVERY: Final = 0.005  # seconds between two messages of this process
_LINGER: Final = 60.0  # seconds to go on listening for the next request
_LISTEN: Final = 5.0


class _State:
    """Of one process: what it has still to tell the others, who waits in it, and the task that listens for them."""

    def __init__(self) -> None:
        self.untold: set[str] = set()
        self.told_at = self.left_at = 0.0
        self.waiting: defaultdict[str, set[asyncio.Event]] = defaultdict(set)
        self.listener: asyncio.Task[None] | None = None


_state = _State()


def wake(workspace: str, kind: str) -> None:
    """Wake whoever waits for an event of this kind, which has been committed."""
    channel = f"{_PREFIX}{workspace}:{kind}"
    _wake_here(channel)
    if redis_pool.client() is not None:
        _state.untold.add(channel)
        if len(_state.untold) == 1:
            redis_pool.run_in_background(_tell())


def wake_all() -> None:
    """Wake everybody who waits in this process."""
    for channel in list(_state.waiting):
        _wake_here(channel)


@contextlib.contextmanager
def waiting(workspace: str, kinds: Sequence[str]) -> Iterator[asyncio.Event]:
    """Inside the block, the event is set whenever something of these kinds may have been committed."""
    woken, channels = asyncio.Event(), [f"{_PREFIX}{workspace}:{kind}" for kind in kinds]
    for channel in channels:
        _state.waiting[channel].add(woken)
    if _state.listener is None and redis_pool.client() is not None:
        _state.listener = asyncio.get_running_loop().create_task(_listen(), context=contextvars.Context())
    try:
        yield woken
    finally:
        _state.left_at = time.monotonic()
        for channel in channels:
            _state.waiting[channel].discard(woken)
            if not _state.waiting[channel]:
                del _state.waiting[channel]


def _wake_here(channel: str) -> None:
    for woken in _state.waiting.get(channel, ()):
        woken.set()


async def _tell() -> None:
    await asyncio.sleep(max(0.0, _state.told_at + _EVERY - time.monotonic()))
    _state.told_at, channels = time.monotonic(), list(_state.untold)
    _state.untold.clear()
    with contextlib.suppress(*redis_pool.AWAY):
        if (client := redis_pool.client()) is not None:
            await redis_pool.publish(client, *channels)


async def _listen() -> None:
    """Turn messages of other processes into wake-ups until nobody has waited for a minute."""
    backoff = Backoff()
    try:
        while _wanted():
            try:
                await _subscribe(backoff)
            except Exception as error:  # noqa: BLE001 - redis-py raises more than it documents
                if redis_pool.client() is None:  # closed, as the process ends
                    return
                telemetry.log("feed.lost", level=logging.WARNING, error=error)
                await asyncio.sleep(backoff.next())
    finally:
        _state.listener = None


async def _subscribe(backoff: Backoff) -> None:
    async with redis_pool.subscription(redis_pool.require_client()) as subscription:
        await subscription.psubscribe(f"{_PREFIX}*")
        backoff.reset()
        wake_all()  # for what was committed without a subscription
        while _wanted():
            if message := await subscription.get_message(timeout=_LISTEN):
                _wake_here(message["channel"].decode())


def _wanted() -> bool:
    return bool(_state.waiting) or time.monotonic() - _state.left_at < _LINGER
