"""A response that is made while it is sent, compressed where the caller takes that."""

import asyncio
import contextlib
import zlib
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any, Final, Generic, TypeVar

from litestar import Request
from litestar.types import Receive, Scope, Send
from msgspec import Struct

from leadwire.infrastructure import cpu_work, telemetry
from leadwire.infrastructure.serving.connection import CLOSE
from leadwire.interfaces.http import requests
from leadwire.interfaces.http.responses import GZIP, JSONResponse

T = TypeVar("T")

_LEVEL: Final = 1


class Download(Struct, Generic[T], frozen=True):
    """A file: rows of a `T`."""

    first: bytes
    rest: AsyncGenerator[bytes, None]
    """Has begun with `first`, and is closed however the response ends."""
    kind: str
    name: str


class StreamResponse(JSONResponse[None]):
    """Sends chunks as they come. Where they end in an error, the connection is closed before the end of the body."""

    def __init__(self, request: "Request[Any, Any, Any]", file: Download[Any]) -> None:
        super().__init__(None)
        self._request, self._file = request, file

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - ASGI's
        """Send the file, or as much of it as there is somebody to read it."""
        headers = [
            (b"content-type", self._file.kind.encode()),
            (b"content-disposition", f'attachment; filename="{self._file.name}"'.encode()),
            (b"vary", b"accept-encoding"),
        ]
        packed = None
        if requests.takes_gzip(scope):
            packed = zlib.compressobj(_LEVEL, wbits=GZIP)
            headers.append((b"content-encoding", b"gzip"))
        start: Any = {"type": "http.response.start", "status": 200, "headers": headers}
        async with contextlib.aclosing(self._file.rest):
            await send(start)
            await self._send_body(scope, send, packed)

    async def _send_body(self, scope: Scope, send: Send, packed: Any) -> None:
        if scope["method"] != "HEAD":  # type: ignore[typeddict-item]
            gone = asyncio.create_task(requests.disconnected(self._request))
            try:
                async for chunk in self._chunks():
                    if gone.done():
                        return
                    body = await cpu_work.run(packed.compress, chunk) if packed else chunk
                    await send({"type": "http.response.body", "body": body, "more_body": True})
            except Exception as error:  # noqa: BLE001 - too late for an error response: the body just has no end
                telemetry.warn("download.broke_off", error=error)
                extension: Any = (scope.get("extensions") or {}).get(CLOSE)
                if extension:  # else the server would log that the answer has no end
                    extension["close"]()
                    await gone
                return
            finally:
                gone.cancel()
        await send({"type": "http.response.body", "body": packed.flush() if packed else b"", "more_body": False})

    async def _chunks(self) -> AsyncIterator[bytes]:
        yield self._file.first
        async for chunk in self._file.rest:
            yield chunk
