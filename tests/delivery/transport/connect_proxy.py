"""A proxy that opens tunnels (CONNECT), on a real socket. What it is asked for is kept."""

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.delivery.transport import hostile


class ConnectProxy:
    """Opens tunnels to the addresses in `hosts`, each of which stands for a port of this machine.

    `answer` is what it says to a CONNECT instead, `None` for nothing at all, and empty to close the connection;
    `cut_after` closes a tunnel after so many bytes of the receiver's.
    """

    def __init__(self, hosts: dict[str, int], authorization: str = "") -> None:
        self.hosts, self.authorization = hosts, authorization
        self.answer: bytes | None = b"as usual"
        self.cut_after: int | None = None
        self.asked: list[str] = []
        self.heads: list[bytes] = []
        self.passed = bytearray()
        self.port = 0

    @property
    def url(self) -> str:
        if not self.authorization:
            return f"http://127.0.0.1:{self.port}"
        user_password = base64.b64decode(self.authorization.removeprefix("Basic ")).decode()
        return f"http://{user_password}@127.0.0.1:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        self.heads.append(head)
        method, place, _ = head.split(b"\r\n")[0].decode().split(" ")
        assert method == "CONNECT"
        self.asked.append(place)
        if self.answer is None:
            await asyncio.Event().wait()
        if self.answer != b"as usual":
            writer.write(self.answer)
            await writer.drain()
            return
        given = [line.partition(b": ")[2] for line in head.split(b"\r\n") if line.startswith(b"Proxy-Authorization")]
        if given != [self.authorization.encode()] * bool(self.authorization):
            writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\n\r\n")
            return
        if place not in self.hosts:
            writer.write(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 4\r\n\r\nno! ")
            return
        there, back = await asyncio.open_connection("127.0.0.1", self.hosts[place])
        writer.write(b"HTTP/1.1 200 Connection established\r\nVia: 1.1 test\r\n\r\n")
        try:
            await asyncio.gather(self._pass(reader, back), self._pass(there, writer, self.cut_after))
        finally:
            back.close()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, most: int | None = None) -> None:
        count = 0
        while data := await reader.read(65_536):
            count += len(data)
            if most is not None and count > most:
                raise ConnectionResetError
            self.passed += data
            writer.write(data)
            await writer.drain()
        raise ConnectionResetError  # one side has gone: so does the other


@asynccontextmanager
async def connect_proxy(hosts: dict[str, int], authorization: str = "") -> AsyncIterator[ConnectProxy]:
    """Serve one."""
    made = ConnectProxy(hosts, authorization)
    async with hostile.server(made.serve) as made.port:
        yield made
