"""Requests that wait for the next event of a workspace, or delivery of an endpoint: a commit wakes them, in whichever
process they wait.

Redis is told the id and the kind, nothing else. A wake-up that is lost costs time, never an event: whoever waits
looks at intervals as well. A process listens only while somebody waits in it, and for a minute longer.
"""

import asyncio
import contextlib
import contextvars
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from leadwire.infrastructure import announcements, redis_pool

_PREFIX: Final = "leadwire:feed:"
DUE: Final = "due"
"""The kind of what an endpoint's receiver may fetch."""
_LINGER: Final = 60.0  # seconds to go on listening for the next request


class _State:
    """Of one process: who waits in it, and the task that listens for them."""

    def __init__(self) -> None:
        self.left_at = 0.0
        self.waiting: defaultdict[str, set[asyncio.Event]] = defaultdict(set)
        self.listener: asyncio.Task[None] | None = None


_state = _State()
_announcer = announcements.Announcer(0.005)


def wake(of: str, kind: str = DUE) -> None:
    """Wake whoever waits for an event of this kind `of` a workspace, or for a delivery of an endpoint."""
    channel = f"{_PREFIX}{of}:{kind}"
    _wake_here(channel)
    _announcer.announce(channel)


def wake_all() -> None:
    for channel in list(_state.waiting):
        _wake_here(channel)


@contextlib.contextmanager
def waiting(of: str, kinds: Sequence[str] = (DUE,)) -> Iterator[asyncio.Event]:
    """Inside the block, the event is set whenever something of these kinds may have been committed."""
    woken, channels = asyncio.Event(), [f"{_PREFIX}{of}:{kind}" for kind in kinds]
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


def count(of: str, kind: str = DUE) -> int:
    return len(_state.waiting.get(f"{_PREFIX}{of}:{kind}", ()))


def _wake_here(channel: str) -> None:
    for woken in _state.waiting.get(channel, ()):
        woken.set()


async def _listen() -> None:
    """Turn messages of other processes into wake-ups until nobody has waited for a minute."""
    try:
        await announcements.listen(f"{_PREFIX}*", _wake_here, wake_all, _wanted)
    finally:
        _state.listener = None


def _wanted() -> bool:
    return bool(_state.waiting) or time.monotonic() - _state.left_at < _LINGER
