"""Saying in Redis, and hearing, that something has changed. A message is a channel's name, without content.

One that is lost costs time, never a change: whoever listens looks at intervals as well.
"""

import asyncio
import contextlib
import time
import weakref
from collections.abc import Callable
from typing import Final

from leadwire.infrastructure import redis_pool, telemetry
from leadwire.infrastructure.backoff import Backoff
from leadwire.infrastructure.loop import Rounds

_LISTEN: Final = 5.0  # seconds


class Announcer:
    """Says it soon after a commit, and what comes meanwhile with it: every so many seconds at most. Or whoever tells
    Redis something anyway takes it along.
    """

    def __init__(self, every: float) -> None:
        self._every, self._said_at = every, 0.0
        self._unsaid: dict[str, None] = {}  # in their order
        _announcers.add(self)

    def announce(self, channel: str) -> None:
        """Tell whoever listens. Does nothing in a process without Redis."""
        if redis_pool.client() is None:
            return
        if not self._unsaid:
            redis_pool.run_in_background(self._publish())
        self._unsaid[channel] = None

    async def _publish(self) -> None:
        if self._unsaid:
            await asyncio.sleep(max(0.0, self._said_at + self._every - time.monotonic()))
        channels = self.take()
        with contextlib.suppress(*redis_pool.AWAY):
            if channels and (client := redis_pool.client()) is not None:
                await redis_pool.publish(client, *channels)

    def take(self) -> list[str]:
        """Return what is still to be said: whoever takes it says it."""
        channels = list(self._unsaid)
        if channels:
            self._said_at = time.monotonic()
            self._unsaid.clear()
        return channels


_announcers: Final = weakref.WeakSet[Announcer]()


def take() -> list[str]:
    """Return what this process has still to say: the caller says it with what it tells Redis now."""
    return [channel for announcer in _announcers for channel in announcer.take()]


async def listen(
    pattern: str, heard: Callable[[str], None], began: Callable[[], None], wanted: Callable[[], bool]
) -> None:
    """Call `heard` with each channel of a pattern that something is said in, while that is `wanted` and the process has
    a Redis; and `began` when it begins to listen, for what was said before.
    """
    with Rounds(f"listen to {pattern.removesuffix('*')}") as rounds:
        await _listen(rounds, pattern, heard, began, wanted)


async def _listen(
    rounds: Rounds, pattern: str, heard: Callable[[str], None], began: Callable[[], None], wanted: Callable[[], bool]
) -> None:
    backoff = Backoff()
    while wanted():
        rounds.began()
        try:
            async with redis_pool.subscription(redis_pool.require_client()) as subscription:
                await subscription.psubscribe(pattern)
                backoff.reset()
                began()
                while wanted():
                    rounds.began()
                    if message := await subscription.get_message(timeout=_LISTEN):
                        heard(message["channel"].decode())
        except Exception as error:  # noqa: BLE001 - redis-py raises more than it documents
            if redis_pool.client() is None:  # closed, as the process ends
                return
            telemetry.warn("announcements.lost", error=error, pattern=pattern)
            await asyncio.sleep(backoff.next())
