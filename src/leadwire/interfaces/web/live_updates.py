"""Live pages: the server says that something changed, the page asks for itself again (Server-Sent Events)."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from litestar import Response
from litestar.response import Stream

from leadwire.domain.accounts.changes import sessions
from leadwire.domain.conversations.pubsub import hub
from leadwire.interfaces.web import policy

_WATCHED: Final = 120  # looks; then the browser comes back by itself
_LOOK: Final = 1.0  # seconds between them
_PING: Final = 15.0  # seconds: proxies cut what is silent for longer
_CALM: Final = 0.3
_KIND: Final = "text/event-stream"
_HEADERS: Final = {**policy.HEADERS, "Cache-Control": "no-store"}

_STREAMS: Final = 12
"""Streams of one session in a process: as many pages as a person has open, and some."""
_DONE: Final = b"event: done\ndata:\n\n"

_open: Counter[str] = Counter()  # streams by session

Look = Callable[[], Awaitable[tuple[Hashable, bool]]]


def stream(look: Look, session_id: str) -> Response[Any]:
    """`changed` each time the first thing that `look` answers is another; `done` once the second is true.

    Ends with the session, as every stream here; one more than `_STREAMS` is `done` at once.
    """
    return Stream(_told(look, session_id), headers=_HEADERS, media_type=_KIND)


def bells(workspace: str, session_id: str) -> Response[Any]:
    """`changed` when anything happened in a conversation of the workspace, at most three times a second. As long as it
    is open, the session's owner is at the desk.
    """
    return Stream(_rung(workspace, session_id), headers=_HEADERS, media_type=_KIND)


async def _rung(workspace: str, session_id: str) -> AsyncIterator[bytes]:
    loop, noted = asyncio.get_running_loop(), float("-inf")
    with _place(session_id) as free, hub.watch(workspace) as watch:
        if not free:
            yield _DONE
            return
        yield b"retry: 2000\n\n"
        while not hub.leaving:
            if loop.time() - noted > sessions.PRESENCE_EVERY:
                noted = loop.time()
                await sessions.report_present(session_id)
            rang = await watch.wait(_PING)
            if not await sessions.is_active(session_id):
                break
            yield b"event: changed\ndata:\n\n" if rang else b":\n\n"
            await asyncio.sleep(_CALM)


async def _told(look: Look, session_id: str) -> AsyncIterator[bytes]:
    with _place(session_id) as free:
        if not free:
            yield _DONE
            return
        seen, _ = await look()
        for _ in range(_WATCHED):
            if not await sessions.is_active(session_id):
                return
            now, ended = await look()
            if now != seen or ended:
                yield b"event: changed\ndata:\n\n"
            if ended:
                yield _DONE
                return
            seen = now
            yield b": here\n\n"
            await asyncio.sleep(_LOOK)


@contextmanager
def _place(session_id: str) -> Iterator[bool]:
    """Whether there is room for one more stream of the session, which the block then is."""
    free = _open[session_id] < _STREAMS
    _open[session_id] += free
    try:
        yield free
    finally:
        _open[session_id] -= free
        if not _open[session_id]:
            del _open[session_id]
