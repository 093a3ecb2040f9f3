"""What a process tells Redis right after a commit: the deliveries that it has queued, and that there is work to relay.
What else there is to announce goes in the same trip.

Neither can be lost. A delivery that is queued and not in a stream is put back by `relay.reconcile`; the relay looks
for work anyway. A PUBLISH, never a NOTIFY in the changing transaction, which would take a database-wide lock at every
commit.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from redis.asyncio import Redis

from leadwire.delivery import metrics, streams
from leadwire.delivery.streams import Key
from leadwire.infrastructure import announcements, redis_pool, settings, telemetry
from leadwire.infrastructure.backoff import Backoff

WAKE: Final = "leadwire:wake"
"""The channel on which relays are told of work."""
_BATCH: Final = 500  # entries


class _Push:
    """Of one process: what it has still to add to the streams, and whether adding works."""

    def __init__(self) -> None:
        self.waiting: list[Key] = []
        self.adding = False
        self.failing = False  # since an entry was refused, until one is taken


_state = _Push()
_announcer = announcements.Announcer(0.005)


def is_open() -> bool:
    """Whether deliveries may be queued by the change itself: this process has a Redis, and it takes entries."""
    return redis_pool.client() is not None and not _state.failing


def push(keys: Sequence[Key]) -> None:
    """Add committed deliveries to their streams soon: those of the commits that come meanwhile go along."""
    _state.waiting.extend(keys)
    if not _state.adding:
        _state.adding = True
        redis_pool.run_in_background(_add_waiting())


async def _add_waiting() -> None:
    """Add all, trying for as long as this process lives. What it leaves behind is found by reconcile."""
    pause = Backoff()
    try:
        while _state.waiting and (client := redis_pool.client()) is not None:
            batch = _state.waiting[:_BATCH]
            if await _add(client, batch):
                del _state.waiting[: len(batch)]
                pause.reset()
            else:
                await asyncio.sleep(pause.next())
    finally:
        _state.adding = _state.failing = False


async def _add(redis: Redis, keys: Sequence[Key]) -> bool:
    """Add to the streams. Return whether Redis took them."""
    try:
        await streams.add(redis, keys, settings.get().stream_shards, channels=announcements.take())
    except Exception as error:  # noqa: BLE001 - redis-py raises more than it documents
        _state.failing = True
        metrics.FAILED.labels("add").inc()
        telemetry.warn("stream.unreachable", error=error, keys=len(keys))
        return False
    _state.failing = False
    metrics.ADDED.labels("change").inc(len(keys))
    return True


def wake_relay() -> None:
    """Wake the relays soon. Does nothing in a process without Redis."""
    _announcer.announce(WAKE)


async def listen(woken: Callable[[], None], stop: asyncio.Event) -> None:
    """Call `woken` whenever a process says that there is work, until `stop` is set. To miss some does no harm."""
    await announcements.listen(WAKE, lambda _: woken(), woken, lambda: not stop.is_set())
