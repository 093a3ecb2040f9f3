"""Live pages: the server says that something changed, the page asks for itself again (Server-Sent Events)."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from typing import Any, Final

from litestar import Response
from litestar.response import Stream

from leadwire.accounts import presence
from leadwire.conversations.live import hub
from leadwire.pages import policy

_WATCHED: Final = 120  # looks; then the browser comes back by itself
_LOOK: Final = 1.0  # seconds between them
_PING: Final = 15.0  # seconds: proxies cut what is silent for longer
_CALM: Final = 0.3
_KIND: Final = "text/event-stream"
_HEADERS: Final = {**policy.HEADERS, "Cache-Control": "no-store"}

Look = Callable[[], Awaitable[tuple[Hashable, bool]]]


def stream(look: Look) -> Response[Any]:
    """`changed` each time the first thing that `look` answers is another; `done` once the second is true."""
    return Stream(_told(look), headers=_HEADERS, media_type=_KIND)


def bells(workspace: str, session_id: str) -> Response[Any]:
    """`changed` when anything happened in a conversation of the workspace, at most three times a second. As long as it
    is open, the session's owner is at the desk.
    """
    return Stream(_rung(workspace, session_id), headers=_HEADERS, media_type=_KIND)


async def _rung(workspace: str, session_id: str) -> AsyncIterator[bytes]:
    yield b"retry: 2000\n\n"
    loop, noted = asyncio.get_running_loop(), float("-inf")
    with hub.watch(workspace) as watch:
        while not hub.leaving:
            if loop.time() - noted > presence.EVERY:
                noted = loop.time()
                await presence.note(session_id)
            yield b"event: changed\ndata:\n\n" if await watch.wait(_PING) else b":\n\n"
            await asyncio.sleep(_CALM)


async def _told(look: Look) -> AsyncIterator[bytes]:
    seen, _ = await look()
    for _ in range(_WATCHED):
        now, ended = await look()
        if now != seen or ended:
            yield b"event: changed\ndata:\n\n"
        if ended:
            yield b"event: done\ndata:\n\n"
            return
        seen = now
        yield b": here\n\n"
        await asyncio.sleep(_LOOK)
