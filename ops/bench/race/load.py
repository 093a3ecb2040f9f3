"""The load and the receiver in one process, so that one clock times both: the least of HTTP/1.1 that it takes."""

import asyncio
import ctypes
import os
import sys
import time
from collections.abc import Callable
from typing import Any, Final, NamedTuple, Self

_LOOK: Final = 0.02  # seconds
_LOOKS: Final = 1500  # one after the other, without an arrival: then what is missing counts as lost


class Service(NamedTuple):
    """What is under load: `request` makes a request whose webhook contains the text that it gets."""

    address: tuple[str, int]
    request: Callable[[str], bytes]
    pids: dict[str, int]  # by part
    database_url: str = ""  # of ours, whose servers are asked what they have done
    redis_url: str = ""


class Load:
    """`async with Load(9099) as load`: webhooks go to `load.url`. After `run` its attributes say what happened, by the
    number of the request, in seconds of CLOCK_MONOTONIC. One for each service. `host` is the address to listen on.
    """

    def __init__(self, port: int, host: str = "127.0.0.1") -> None:
        self._host, self._port, self._next = host, port, 0
        self._mark = f"race-{time.time_ns()}-"  # so that retries of an earlier run are not taken for ours
        self._idle: list[_Connection] = []
        self._reset()

    def _reset(self) -> None:
        self.start = time.monotonic()
        self.planned: dict[int, float] = {}
        self.accepted: set[int] = set()
        self.refused: list[str] = []
        self.arrived: dict[int, float] = {}
        self.lost = self.doubled = 0

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Connection(self._received), self._host, self._port)
        self.url = f"http://{self._host}:{self._server.sockets[0].getsockname()[1]}/"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for connection in self._idle:
            connection.transport.close()

    async def run(self, service: Service, seconds: float, *, rate: float = 0, clients: int = 0) -> None:
        """Send for `seconds`, at a `rate` or by so many `clients` that each wait for their answer. Return when all has
        arrived, or nothing more for 30 seconds.
        """
        self._reset()
        await (self._open_loop(service, rate, seconds) if rate else self._closed_loop(service, clients, seconds))
        looks, before = 0, -1
        while looks < _LOOKS:
            answered, self.lost = len(self.accepted) + len(self.refused), len(self.accepted - self.arrived.keys())
            if answered == len(self.planned) and not self.lost:
                break
            looks = looks + 1 if before == (before := answered + len(self.arrived)) else 0
            await asyncio.sleep(_LOOK)

    async def _open_loop(self, service: Service, rate: float, seconds: float) -> None:
        """By the kernel's timer, because those of an event loop are up to a millisecond late."""
        loop, over = asyncio.get_running_loop(), asyncio.Event()
        period, start = round(1e9 / rate), time.monotonic_ns() + 10_000_000
        libc = ctypes.CDLL(None)
        timer = libc.timerfd_create(time.CLOCK_MONOTONIC, os.O_NONBLOCK | os.O_CLOEXEC)
        times = (ctypes.c_long * 4)(*divmod(period, 10**9), *divmod(start, 10**9))  # the interval, then the first
        if timer < 0 or libc.timerfd_settime(timer, 1, times, None):  # 1: TFD_TIMER_ABSTIME
            raise OSError("no timer")
        self.start, count = start / 1e9, round(rate * seconds)

        def tick() -> None:
            for _ in range(int.from_bytes(os.read(timer, 8), sys.byteorder)):  # more than one when we are late
                if (done := len(self.planned)) < count:
                    self._send(service, self.start + done / rate)
                else:
                    over.set()

        loop.add_reader(timer, tick)
        await over.wait()
        loop.remove_reader(timer)
        os.close(timer)

    async def _closed_loop(self, service: Service, clients: int, seconds: float) -> None:
        def again() -> None:
            if (now := time.monotonic()) < self.start + seconds:
                self._send(service, now, again)

        for _ in range(clients):
            again()
        await asyncio.sleep(seconds)

    def _send(self, service: Service, planned: float, then: Callable[[], None] = lambda: None) -> None:
        number, self._next = self._next, self._next + 1
        self.planned[number] = planned
        data = service.request(f"{self._mark}{number}")

        def answered(status: str) -> None:
            if number in self.planned:  # not of a round that was given up
                self.accepted.add(number) if status < "300" else self.refused.append(status)
            then()

        async def connect() -> None:
            try:
                new = asyncio.get_running_loop().create_connection(lambda: _Connection(self._answer), *service.address)
                (await new)[1].ask(data, answered)
            except OSError as error:
                answered(f"error: {error}")

        while self._idle:
            if not (connection := self._idle.pop()).transport.is_closing():
                connection.ask(data, answered)
                return
        self._connecting = asyncio.ensure_future(connect())

    def _answer(self, connection: "_Connection", head: bytes, body: bytes) -> None:
        if answered := connection.answered:
            connection.answered = None
            self._idle.append(connection)
            answered((head[9:13] + body[:300]).decode(errors="replace"))

    def _received(self, connection: "_Connection", _head: bytes, body: bytes) -> None:
        number = int(body.partition(self._mark.encode())[2].split(b'"', 1)[0] or -1)
        if number in self.arrived:
            self.doubled += 1
        elif number in self.planned:
            self.arrived[number] = time.monotonic()
        connection.transport.write(b"HTTP/1.1 204 No Content\r\n\r\n")


class _Connection(asyncio.Protocol):
    """Cuts what comes into heads and bodies for `message`. `answered` gets the status, and what was wrong."""

    def __init__(self, message: Callable[["_Connection", bytes, bytes], None]) -> None:
        self._message, self._buffer = message, b""
        self.answered: Callable[[str], None] | None = None

    def ask(self, data: bytes, answered: Callable[[str], None]) -> None:
        self.answered = answered
        self.transport.write(data)

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n") + 4) >= 4:
            head = self._buffer[:end].lower()
            size = end + int(head.partition(b"\r\ncontent-length:")[2].split(b"\r\n", 1)[0] or 0)
            if len(self._buffer) < size:
                return
            body, self._buffer = self._buffer[end:size], self._buffer[size:]
            self._message(self, head, body)

    def connection_lost(self, error: Exception | None) -> None:
        if self.answered:
            self.answered(f"error: connection lost, {error}")
