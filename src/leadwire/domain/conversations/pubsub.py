"""Wake-ups of those who watch a conversation, across processes.

Redis pub/sub only says "look again": whoever wakes reads PostgreSQL from where they were. A wake-up that is lost costs
time, never a message; the hub survives Redis, and wakes everybody when it is back.
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
_SOON: Final = 0.002  # seconds: what one transaction says is told once
_LISTEN: Final = 5.0

_told: set[str] = set()
_scheduled = False


def publish(workspace: str, conversation_id: str) -> None:
    """Wake the watchers of a conversation once the open transaction has committed."""
    db.after_commit(functools.partial(_soon, f"{_PREFIX}{workspace}:{conversation_id}"))


def _soon(channel: str) -> None:
    global _scheduled  # noqa: PLW0603 - one batch a process
    if redis_pool.client() is None:
        return
    _told.add(channel)
    if not _scheduled:
        _scheduled = True
        asyncio.get_running_loop().call_later(_SOON, _send)


def _send() -> None:
    global _scheduled  # noqa: PLW0603 - as above
    _scheduled = False
    channels = list(_told)
    _told.clear()
    redis_pool.run_in_background(_publish(channels))


async def _publish(channels: list[str]) -> None:
    if (client := redis_pool.client()) is None:
        return
    try:
        async with client.pipeline(transaction=False) as pipeline:
            for channel in channels:
                pipeline.publish(channel, b"")
            await pipeline.execute()
    except redis_pool.AWAY:
        return  # watchers look by themselves, too


class Watch:
    """One watcher's bell."""

    def __init__(self) -> None:
        self._bell = asyncio.Event()

    def ring(self) -> None:
        """Something has happened, or may have."""
        self._bell.set()

    async def wait(self, seconds: float) -> bool:
        """Wait for the bell. Answers whether it rang within `seconds`."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._bell.wait()
        rang = self._bell.is_set()
        self._bell.clear()
        return rang


class Hub:
    """One subscription for all the watchers of a process."""

    def __init__(self) -> None:
        self._watches: defaultdict[str, set[Watch]] = defaultdict(set)
        self.leaving = False

    @contextlib.contextmanager
    def watch(self, workspace: str, conversation_id: str = "") -> Iterator[Watch]:
        """A bell for one conversation, or for all of a workspace, inside the block."""
        channel, watch = f"{_PREFIX}{workspace}:{conversation_id}", Watch()
        self._watches[channel].add(watch)
        try:
            yield watch
        finally:
            self._watches[channel].discard(watch)
            if not self._watches[channel]:
                del self._watches[channel]

    def watchers(self, workspace: str, conversation_id: str) -> int:
        """How many watch a conversation in this process."""
        return len(self._watches.get(f"{_PREFIX}{workspace}:{conversation_id}", ()))

    def leave(self) -> None:
        """The process stops: let every watcher go, or their open streams would hold it up."""
        self.leaving = True
        self._ring_all()

    async def listen(self) -> None:
        """Turn messages into bells, for ever."""
        pause = Backoff()
        while True:
            try:
                await self._subscribed(pause)
            except Exception as error:  # noqa: BLE001 - redis-py raises more than it documents
                telemetry.log("live.lost", level=logging.WARNING, error=error)
            await asyncio.sleep(pause.next())

    async def _subscribed(self, pause: Backoff) -> None:
        async with redis_pool.opened().pubsub(ignore_subscribe_messages=True) as subscription:
            await subscription.psubscribe(f"{_PREFIX}*")
            pause.reset()
            self._ring_all()  # for what was said meanwhile
            while True:
                if message := await subscription.get_message(timeout=_LISTEN):
                    self._ring(message["channel"].decode())

    def _ring(self, channel: str) -> None:
        whole_workspace = channel.rpartition(":")[0] + ":"
        for watch in (*self._watches.get(channel, ()), *self._watches.get(whole_workspace, ())):
            watch.ring()

    def _ring_all(self) -> None:
        for watches in self._watches.values():
            for watch in watches:
                watch.ring()


hub: Final = Hub()
"""This process's."""
