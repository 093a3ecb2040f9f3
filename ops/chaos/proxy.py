"""A TCP proxy in front of Redis that can lose answers: commands are executed, and their senders never hear of it."""

import asyncio
import contextlib
from typing import Self
from urllib.parse import urlsplit


class LossyProxy:
    """`async with LossyProxy(url) as proxy`: connect to `proxy.url`. `await proxy.lose_answers(seconds)`."""

    def __init__(self, url: str) -> None:
        self._socket = urlsplit(url).path  # of an embedded server
        self._losing = False
        self._robbed: set[asyncio.StreamWriter] = set()  # connections that an answer was taken from

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        self.url = f"redis://127.0.0.1:{port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    async def lose_answers(self, seconds: float) -> None:
        """Drop all answers for so long, then close the connections concerned: they would mistake one for another."""
        self._losing = True
        try:
            await asyncio.sleep(seconds)
        finally:
            self._losing = False
            while self._robbed:
                self._robbed.pop().close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer), contextlib.suppress(OSError):
            theirs, ours = await asyncio.open_unix_connection(self._socket)
            with contextlib.closing(ours):
                ways = [asyncio.create_task(self._ask(reader, ours)), asyncio.create_task(self._answer(theirs, writer))]
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
                for way in ways:
                    way.cancel()

    async def _ask(self, client: asyncio.StreamReader, redis: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await client.read(65536):
                redis.write(data)
                await redis.drain()

    async def _answer(self, redis: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await redis.read(65536):
                if self._losing or client in self._robbed:
                    self._robbed.add(client)
                    continue
                client.write(data)
                await client.drain()
