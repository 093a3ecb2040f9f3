"""The receiver: a process of its own that verifies every POST, answers as its endpoint is set to, and keeps a journal.

An answer depends on the endpoint, the event and the attempt alone; the third attempt is always acknowledged. The
journal is a file with one JSON line a POST, written when it is answered.
"""

import asyncio
import contextlib
import multiprocessing
import random
import socket
import time
import zlib
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Final, Self

import msgspec
import uvloop

from leadwire_development import verifying
from ops.chaos import payload
from ops.chaos.records import Post

SILENCE: Final = 0
_DEADLY: Final = 4  # attempts
_SILENT: Final = 60.0  # seconds until a connection that got no answer is closed, if the sender has not
_encode = msgspec.json.Encoder().encode
_chance = random.SystemRandom()  # not `random`: the processes of tests are seeded alike


class Journal:
    """`journal = Journal(path)`, `journal.start(secrets)`; `journal.posts()` is what came so far.

    `secrets` by endpoint name; `journal.add(name, secret)` for one that is made later. POST to `journal.url(name)`. See
    `answer_of` for the endpoints' manners. `host` is the address to listen on.
    """

    def __init__(self, path: Path, host: str = "127.0.0.1") -> None:
        self._path = path
        self._secrets: dict[str, str] = {}
        self._host, self._port = host, free_port()

    def url(self, endpoint: str) -> str:
        """Where an endpoint is. Known before the receiver runs, because the endpoint must exist to have a secret."""
        return f"http://{self._host}:{self._port}/{endpoint}"

    def start(self, secrets: Mapping[str, str]) -> Self:
        """Start the receiver; return once it listens."""
        for name, secret in secrets.items():
            self.add(name, secret)
        arguments = (self._host, self._port, self._path)
        self._process = multiprocessing.get_context("spawn").Process(target=_serve, args=arguments, daemon=True)
        self._process.start()
        end = time.monotonic() + 120
        while True:
            with socket.socket() as probe:
                if probe.connect_ex((self._host, self._port)) == 0:
                    return self
            if time.monotonic() > end or not self._process.is_alive():
                raise RuntimeError("the receiver does not start")
            time.sleep(0.02)

    def add(self, name: str, secret: str) -> None:
        """Let the receiver know the secret of an endpoint, before anything is sent to it."""
        self._secrets[name] = secret
        written = self._path.with_suffix(".new")
        written.write_bytes(_encode(self._secrets))
        written.replace(_secrets_file(self._path))

    def stop(self) -> None:
        """End the receiver; the journal stays."""
        self._process.terminate()
        self._process.join()

    def size(self) -> int:
        """Return how many bytes it has."""
        return self._path.stat().st_size

    def posts(self, after: int = 0) -> list[Post]:
        """Every POST, in order of arrival; or those behind so many bytes."""
        with self._path.open("rb") as journal:
            journal.seek(after)
            whole = journal.read().rpartition(b"\n")[0]
        posts = msgspec.json.decode(b"[" + whole.replace(b"\n", b",") + b"]", type=list[Post])
        return sorted(posts, key=lambda post: post.at)


def answer_of(endpoint: str, event_id: str, attempt: int, times: int = 1) -> tuple[int, float]:
    """Return the status to answer a POST with, and the delay in seconds. `times`: how often the event has come.

    `slow` takes up to a second, so that workers have their hands full. At `flaky` one of eight events fails once, as
    many twice, half of them by silence; at `ordered` too, but never by silence. At `failing` one of eight fails until
    it has come four times, which makes a dead letter of it. Any other answers at once.
    """
    draw = zlib.crc32(event_id.encode()) % 16
    if endpoint == "slow":
        return 204, 0.1 + draw / 18
    if endpoint == "failing":
        return (500 if draw < 2 and times <= _DEADLY else 204), 0.0
    failures = 2 if draw < 2 else 1 if draw < 4 else 0
    if endpoint not in ("flaky", "ordered") or attempt > failures:
        return 204, 0.0
    return (SILENCE, _SILENT) if draw % 2 and endpoint == "flaky" else (500, 0.0)


class _Protocol(asyncio.Protocol):
    def __init__(self, journal: BinaryIO, secrets: Callable[[str], str], times: Counter[tuple[str, str]]) -> None:
        self._journal, self._secret, self._times = journal, secrets, times

    def connection_made(self, transport: Any) -> None:
        self._transport, self._buffer = transport, b""

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            first, *lines = self._buffer[:end].decode("latin-1").split("\r\n")
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
            size = end + 4 + int(headers.get("content-length", "0"))
            if len(self._buffer) < size:
                return
            body, self._buffer = self._buffer[end + 4 : size], self._buffer[size:]
            post = self._read(first.split(" ")[1].strip("/"), headers, body)
            if post.answer == SILENCE:
                self._note(post)
                asyncio.get_running_loop().call_later(post.held, self._transport.close)
            elif post.held:
                asyncio.get_running_loop().call_later(post.held, self._answer, post)
            else:
                self._answer(post)

    def _read(self, endpoint: str, headers: dict[str, str], body: bytes) -> Post:
        now = time.time()
        sender = next((name[2:-8] for name in headers if name.startswith("x-") and name.endswith("-attempt")), "")
        try:
            verifying.verify(body, headers, self._secret(endpoint), now=int(now), prefix=f"x-{sender}-")
            verified = True
        except (ValueError, KeyError):
            verified = False
        event_id, attempt = headers.get("webhook-id", ""), int(headers.get(f"x-{sender}-attempt", "0"))
        event = payload.read(body)
        self._times[endpoint, event_id] += verified
        times = self._times[endpoint, event_id]
        answer, held = answer_of(endpoint, event_id, attempt, times) if verified else (401, 0.0)
        return Post(
            at=now,
            endpoint=endpoint,
            sender=sender,
            event_id=event_id,
            attempt=attempt,
            kind=event.kind,
            subject=event.subject,
            number=event.number,
            verified=verified,
            digest=zlib.crc32(body),
            answer=answer,
            held=held,
            sequence=int(headers.get(f"x-{sender}-sequence", "0")) or None,
        )

    def _answer(self, post: Post) -> None:
        post = msgspec.structs.replace(post, held=time.time() - post.at)  # a machine under load answers late
        if self._transport.is_closing():  # the sender died meanwhile
            self._note(msgspec.structs.replace(post, answer=SILENCE))
            return
        self._note(post)
        length = b"" if post.answer == 204 else b"Content-Length: 0\r\n"
        self._transport.write(b"HTTP/1.1 %d X\r\n%s\r\n" % (post.answer, length))

    def _note(self, post: Post) -> None:
        self._journal.write(_encode(post) + b"\n")


def _secrets_file(journal: Path) -> Path:
    return journal.with_suffix(".secrets")


def _serve(host: str, port: int, path: Path) -> None:
    known: dict[str, str] = {}
    times = Counter[tuple[str, str]]()

    def secret(name: str) -> str:
        if name not in known:
            known.update(msgspec.json.decode(_secrets_file(path).read_bytes(), type=dict[str, str]))
        return known[name]

    async def run(journal: BinaryIO) -> None:
        loop = asyncio.get_running_loop()
        harness, gone = multiprocessing.parent_process(), asyncio.Event()
        assert harness is not None
        loop.add_reader(harness.sentinel, gone.set)  # it may be killed like everybody else
        async with await loop.create_server(lambda: _Protocol(journal, secret, times), host, port):
            await gone.wait()

    with path.open("ab", buffering=0) as journal:
        uvloop.run(run(journal))


def free_port() -> int:
    """Return a port that is not in use, below the system's range of ephemeral ports."""
    while True:
        port = _chance.randrange(20_000, 32_000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
