"""Wake-ups for open streams of a conversation, across processes.

A message in Redis has no content: whoever is woken reads PostgreSQL from where they were. A lost wake-up costs time,
never a message. `Hub` survives a Redis that goes away, and wakes everybody when it is back.
"""

import asyncio
import contextlib
import functools
import logging
from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from leadwire.infrastructure import db, redis_pool, telemetry
from leadwire.infrastructure.backoff import Backoff

_PREFIX: Final = "leadwire:talk:"
_DELAY: Final = 0.002  # seconds: several changes of one transaction are sent once
_LISTEN: Final = 5.0

_pending: set[str] = set()


def publish(workspace: str, conversation_id: str) -> None:
    """Wake the watchers of a conversation once the open transaction has committed."""
    db.after_commit(functools.partial(_schedule, f"{_PREFIX}{workspace}:{conversation_id}"))


def _schedule(channel: str) -> None:
    if redis_pool.client() is None:
        return
    _pending.add(channel)
    if len(_pending) == 1:
        redis_pool.run_in_background(_publish())


async def _publish() -> None:
    await asyncio.sleep(_DELAY)
    channels = list(_pending)
    _pending.clear()
    if (client := redis_pool.client()) is None:
        return
    with contextlib.suppress(*redis_pool.AWAY):  # watchers read at intervals as well
        await redis_pool.publish(client, *channels)


class Watch(asyncio.Event):
    """One watcher. It is set when something has changed, or may have."""

    async def changed(self, seconds: float) -> bool:
        """Wait for a change. Return whether there was one within `seconds`."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.wait()
        changed = self.is_set()
        self.clear()
        return changed


class Hub:
    """One Redis subscription for all the watchers of a process."""

    def __init__(self) -> None:
        self._watches: defaultdict[str, set[Watch]] = defaultdict(set)
        self.leaving = False

    @contextlib.contextmanager
    def watch(self, workspace: str, conversation_id: str = "") -> Iterator[Watch]:
        """Watch one conversation, or all of a workspace, inside the block."""
        channel, watch = f"{_PREFIX}{workspace}:{conversation_id}", Watch()
        self._watches[channel].add(watch)
        try:
            yield watch
        finally:
            self._watches[channel].discard(watch)
            if not self._watches[channel]:
                del self._watches[channel]

    def watchers(self, workspace: str, conversation_id: str) -> int:
        """Return how many watch a conversation in this process."""
        return len(self._watches.get(f"{_PREFIX}{workspace}:{conversation_id}", ()))

    def leave(self) -> None:
        """Wake every watcher because the process stops: it would wait for their open streams."""
        self.leaving = True
        self.wake_all()

    async def listen(self) -> None:
        """Turn messages from Redis into wake-ups, for ever."""
        backoff = Backoff()
        while True:
            try:
                await self._subscribe(backoff)
            except Exception as error:  # noqa: BLE001 - redis-py raises more than it documents
                telemetry.log("live.lost", level=logging.WARNING, error=error)
            await asyncio.sleep(backoff.next())

    async def _subscribe(self, backoff: Backoff) -> None:
        async with redis_pool.subscription(redis_pool.require_client()) as subscription:
            await subscription.psubscribe(f"{_PREFIX}*")
            backoff.reset()
            self.wake_all()  # for what changed without a subscription
            while True:
                if message := await subscription.get_message(timeout=_LISTEN):
                    self._wake(message["channel"].decode())

    def _wake(self, channel: str) -> None:
        whole_workspace = channel.rpartition(":")[0] + ":"
        for watch in (*self._watches.get(channel, ()), *self._watches.get(whole_workspace, ())):
            watch.set()

    def wake_all(self) -> None:
        """Wake every watcher of this process."""
        for watches in self._watches.values():
            for watch in watches:
                watch.set()


hub: Final = Hub()
"""This process's."""
