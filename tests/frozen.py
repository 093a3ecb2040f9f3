"""A PostgreSQL server that freezes: its connections stay open, new ones are accepted, and nothing is answered."""

import asyncio
import contextlib
from typing import Self
from urllib.parse import parse_qs, urlsplit


class Freezer:
    """Stands before a server. `async with Freezer(url) as freezer`: connect to `freezer.url`."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._socket = f"{parse_qs(parts.query)['host'][0]}/.s.PGSQL.5432"
        self._database = parts.path
        self._needle: bytes | None = None
        self._delivered = False
        self._writers: set[asyncio.StreamWriter] = set()
        self.frozen = False

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        self.url = f"postgresql://postgres@127.0.0.1:{self.port}{self._database}?sslmode=disable"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        self._hang_up()

    def freeze_at(self, needle: bytes, *, delivered: bool) -> None:
        """Freeze when somebody sends this; the server gets it, too, if it is `delivered`."""
        self._needle, self._delivered = needle, delivered

    def thaw(self) -> None:
        """Close every connection, and take new ones."""
        self.frozen, self._needle = False, None
        self._hang_up()

    def _hang_up(self) -> None:
        while self._writers:
            self._writers.pop().transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        theirs, ours = await asyncio.open_unix_connection(self._socket)
        self._writers |= {writer, ours}
        await asyncio.gather(self._pump(reader, ours, asking=True), self._pump(theirs, writer))
        self._writers -= {writer, ours}

    async def _pump(self, source: asyncio.StreamReader, target: asyncio.StreamWriter, *, asking: bool = False) -> None:
        with contextlib.suppress(OSError):
            while data := await source.read(65536):
                if asking and self._needle and self._needle in data:
                    self.frozen = True
                    if not self._delivered:
                        continue
                    self._delivered = False
                elif self.frozen:
                    continue
                target.write(data)
                await target.drain()
        target.close()
