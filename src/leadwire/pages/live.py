"""Live pages: the server says that something changed, the page asks for itself again (Server-Sent Events)."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from typing import Any, Final

from litestar import Response
from litestar.response import Stream

from leadwire.pages import policy

_WATCHED: Final = 120  # looks; then the browser comes back by itself
_LOOK: Final = 1.0  # seconds between them

Look = Callable[[], Awaitable[tuple[Hashable, bool]]]


def stream(look: Look) -> Response[Any]:
    """`changed` each time the first thing that `look` answers is another; `done` once the second is true."""
    sent = {**policy.HEADERS, "Cache-Control": "no-store"}
    return Stream(_told(look), headers=sent, media_type="text/event-stream")


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
