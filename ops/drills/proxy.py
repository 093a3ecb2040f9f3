"""The proxy in front of several API processes: each new connection goes to the next one that takes it."""

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Self


class Proxy:
    """`async with Proxy(ports) as proxy`: connect to `proxy.url`."""

    def __init__(self, ports: Sequence[int]) -> None:
        self._ports = list(ports)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer):
            for _ in self._ports:
                self._ports.append(port := self._ports.pop(0))
                with contextlib.suppress(OSError):
                    theirs, ours = await asyncio.open_connection("127.0.0.1", port)
                    break
            else:
                return
            with contextlib.closing(ours):
                ways = [asyncio.create_task(_pump(reader, ours)), asyncio.create_task(_pump(theirs, writer))]
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
                for way in ways:
                    way.cancel()


async def _pump(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await source.read(65536):
            target.write(data)
            await target.drain()
