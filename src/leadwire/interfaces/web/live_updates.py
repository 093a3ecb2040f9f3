"""Live pages: the server sends that something changed, and the page loads itself again (Server-Sent Events)."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

from litestar import Response
from litestar.response import Stream

from leadwire.domain.accounts.schema import Person
from leadwire.domain.accounts.sign_in.changes import sessions
from leadwire.domain.conversations import pubsub
from leadwire.infrastructure import clock
from leadwire.infrastructure.errors import NotFound
from leadwire.interfaces.web import security

_MOST_LOOKS: Final = 120  # then the browser connects again
_LOOK: Final = 1.0  # seconds between them
_PING: Final = 15.0  # seconds: proxies end connections that are silent for longer
_LEAST_PAUSE: Final = 0.3  # seconds between two events
_KIND: Final = "text/event-stream"
_PRESENCE: Final[tuple[pubsub.Kind, ...]] = ("looking", "left")
_KINDS: Final[tuple[pubsub.Kind, ...]] = ("changed", "typing_visitor", *_PRESENCE)
_HEADERS: Final = {**security.HEADERS, "Cache-Control": "no-store"}

_STREAMS: Final = 12
"""Streams of one session in a process: more than a person has pages open."""
_DONE: Final = b"event: done\ndata:\n\n"

_open: Counter[str] = Counter()  # streams by session

Seen = tuple[Hashable, bool]
"""What is seen, and whether it has ended."""
Look = Callable[[], Awaitable[Seen]]


def stream(look: Look, me: Person) -> Response[Any]:
    """Send `changed` each time the first value that `look` returns differs, and `done` once the second is true.

    Every stream ends with its session, and when its person may do less. One more than `_STREAMS` is `done` at once.
    """
    return Stream(_poll(look, me), headers=_HEADERS, media_type=_KIND)


def conversation_events(me: Person, looks_at: str) -> Response[Any]:
    """Send `changed` when anything happens in a conversation of their workspace, at most three times a second, and
    `typing` with a conversation where the visitor types. While it is open, they count as present, and as looking at the
    conversation `looks_at`.
    """
    return Stream(_listen((me.workspace, looks_at), me, me.user_id, inbox=True), headers=_HEADERS, media_type=_KIND)


def draft_events(draft: pubsub.Place, me: Person, *, edits: bool) -> Response[Any]:
    """Send `changed` when a draft has changed, or who has it open. While it is open, who `edits` has."""
    return Stream(_listen(draft, me, me.user_id if edits else "", inbox=False), headers=_HEADERS, media_type=_KIND)


async def _listen(channel: pubsub.Place, me: Person, user_id: str, *, inbox: bool) -> AsyncIterator[bytes]:
    loop, noted, (workspace, looks_at) = asyncio.get_running_loop(), float("-inf"), channel
    with (
        _slot(me.session_id) as free,
        pubsub.hub.watch(workspace, "" if inbox else looks_at, _KINDS) as watch,
        pubsub.looking(workspace, looks_at if user_id and free else "", user_id),
    ):
        if not free:
            yield _DONE
            return
        yield b"retry: 2000\n\n"
        while not pubsub.hub.leaving:
            if inbox and loop.time() - noted > sessions.PRESENCE_EVERY:
                noted = loop.time()
                await sessions.update(me.session_id, present_at=clock.now())
            changes = await watch.changed(_PING)
            if not await sessions.is_active(me):
                break
            if looks_at and user_id:
                pubsub.publish(workspace, looks_at, "looking", user_id)
            for conversation_id in {ident for ident, kind in changes if kind == "typing_visitor"}:
                yield f"event: typing\ndata: {conversation_id}\n\n".encode()
            news = any(kind == "changed" or (ident == looks_at and kind in _PRESENCE) for ident, kind in changes)
            yield b"event: changed\ndata:\n\n" if news else b":\n\n"
            await asyncio.sleep(_LEAST_PAUSE)


async def _poll(look: Look, me: Person) -> AsyncIterator[bytes]:
    with _slot(me.session_id) as free, suppress(NotFound):  # of what is gone, the browser learns when it connects again
        if not free:
            yield _DONE
            return
        seen, _ = await look()
        for _ in range(_MOST_LOOKS):
            if pubsub.hub.leaving or not await sessions.is_active(me):
                return  # the browser connects again, to another process
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
def _slot(session_id: str) -> Iterator[bool]:
    """Count a stream of the session for the length of the block; False when there are too many."""
    free = _open[session_id] < _STREAMS
    _open[session_id] += free
    try:
        yield free
    finally:
        _open[session_id] -= free
        if not _open[session_id]:
            del _open[session_id]
