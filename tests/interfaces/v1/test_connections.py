"""What one connection may hold of a server, on sockets: bytes, time, and how many there may be."""

import asyncio
import contextlib
import re
from ipaddress import ip_network

import msgspec
import pytest

from leadwire.infrastructure.errors import Problem
from leadwire.infrastructure.process import bind
from leadwire.infrastructure.settings import Settings
from leadwire.infrastructure.telemetry import health
from tests import catalog
from tests.serving import on_socket
from tests.waiting import eventually

KERNEL = 16 * 1024 * 1024  # bytes that a socket's two ends may hold before the peer has read any
GET = b"GET / HTTP/1.1\r\nHost: x\r\n"


class App:
    """Reads the whole body, then answers `ok`; keeps what it received."""

    def __init__(self) -> None:
        self.calls = 0
        self.messages = []
        self.gone = asyncio.Event()
        self.answer = b"ok"
        self.hold = asyncio.Event()
        self.hold.set()

    async def __call__(self, scope, receive, send):
        self.calls += 1
        while True:
            message = await receive()
            self.messages.append(message["type"])
            if message["type"] == "http.disconnect":
                self.gone.set()
                return
            if not message.get("more_body"):
                break
        await self.hold.wait()
        length = str(len(self.answer)).encode()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", length)]})
        await send({"type": "http.response.body", "body": self.answer})


@pytest.fixture
def app():
    return App()


@contextlib.asynccontextmanager
async def port_of(app, **limits):
    async with on_socket(app, limits=Settings(**limits)) as url:
        yield int(url.rpartition(":")[2])


@contextlib.asynccontextmanager
async def connection(port, source="127.0.0.1"):
    reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(source, 0))
    try:
        yield reader, writer
    finally:
        writer.transport.abort()


async def exchange(port, *parts, source="127.0.0.1"):
    """Everything that the server answers before it closes."""
    async with connection(port, source) as (reader, writer), asyncio.timeout(240):
        for part in parts:
            writer.write(part)
        return await reader.read(-1)


def refused(answer: bytes, status: int, code: str) -> Problem:
    """The problem document of a response that is one."""
    assert answer.startswith(b"HTTP/1.1 %d " % status), answer
    head, _, body = answer.partition(b"\r\n\r\n")
    headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n")[1:])
    problem = msgspec.json.decode(body, type=Problem, strict=True)
    assert msgspec.json.decode(body) == msgspec.to_builtins(problem)
    assert (headers["Content-Type"], int(headers["Content-Length"])) == ("application/problem+json", len(body))
    assert headers["Connection"] == "close"
    assert headers["X-Request-Id"] == problem.request_id
    assert re.fullmatch("req_[0-9a-f]{24}", problem.request_id)
    assert (problem.status, problem.code, problem.type) == (status, code, f"/docs/errors#{code}")
    assert problem.title
    assert problem.detail
    assert ("Retry-After" in headers) == (status == 503)
    return problem


async def flood(port, start, more, most=150_000_000):
    """How many bytes the server lets a caller write before it cuts the connection off."""
    sent = 0
    async with connection(port) as (_, writer), asyncio.timeout(240):
        writer.write(start)
        with contextlib.suppress(ConnectionError):
            while sent < most and not writer.is_closing():
                writer.write(more)
                await writer.drain()
                sent += len(more)
    return sent


CODES = {400: "malformed_request", 408: "request_timeout", 414: "url_too_long", 431: "headers_too_large"}
FLOODS = {
    "header lines": (GET, b"X-Header-Line: 0123456789\r\n" * 4000),
    "one header": (GET + b"X: ", b"a" * 100_000),
    "header names": (GET, b"a" * 100_000),
    "a URL": (b"GET /", b"a" * 100_000),
    "empty lines": (b"", b"\r\n" * 50_000),
    "trailers": (GET + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"X-Trailer: 0123456789\r\n" * 4000),
    "a chunk's extension": (GET + b"Transfer-Encoding: chunked\r\n\r\n1;", b"a" * 100_000),
    "a URL behind a request": (GET + b"\r\nGET /", b"a" * 100_000),
}


@pytest.mark.parametrize("what", FLOODS)
async def test_a_head_without_end_is_cut_off(app, what):
    async with port_of(app) as port:
        assert await flood(port, *FLOODS[what]) < KERNEL


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (GET + b"X: 1\r\n" * 5500, 431),
        (GET + b"X: " + b"a" * 40_000, 431),
        (GET + b"X: " + b"a" * 40_000 + b"\r\n\r\n", 431),
        (b"GET /" + b"a" * 40_000, 414),
        (GET + b"X: " + b"a" * 16_000 + b"\r\nConnection: close\r\n\r\n", 200),
        (b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n", 400),
        (GET + b"Host: x\r\nConnection: close\r\n\r\n", 400),
        (GET + b"hOST: y\r\nConnection: close\r\n\r\n", 400),
        (b"GET / HTTP/1.0\r\nHost: x\r\nHost: y\r\n\r\n", 400),
        (b"GET / HTTP/1.0\r\n\r\n", 200),
        (GET + b"Connection: close\r\n\r\n", 200),
        (GET + b"Upgrade: h2c\r\nConnection: Upgrade, close\r\n\r\n", 200),
        (b"POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 60000\r\n\r\n" + b"a" * 60_000, 200),
        (
            b"POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
            + b"1\r\na\r\n" * 2000 + b"0\r\n\r\n",
            200,
        ),
    ],
    ids=lambda value: value[:60].decode() if isinstance(value, bytes) else value,
)  # fmt: skip
async def test_a_request_has_its_status(app, request_, status):
    async with port_of(app) as port:
        answer = await exchange(port, request_)
    assert app.calls == (status == 200)
    if status == 200:
        assert answer.startswith(b"HTTP/1.1 200 "), answer
    else:
        refused(answer, status, CODES[status])


async def test_a_head_request_is_refused_without_a_body(app):
    async with port_of(app) as port:
        answer = await exchange(port, b"HEAD / HTTP/1.1\r\nX: 1\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.endswith(b"\r\n\r\n")


async def told_by_telemetry(request):
    stop, listening = asyncio.Event(), bind("127.0.0.1", 0)
    serving = asyncio.create_task(health.serve_health("serve", health.Health(needs_redis=False), listening, stop))
    answer = await exchange(listening.getsockname()[1], request)
    stop.set()
    await serving
    return answer


async def test_the_telemetry_port_has_limits_too():
    refused(await told_by_telemetry(GET + b"X: " + b"a" * 40_000), 431, "headers_too_large")


async def test_a_probe_of_the_telemetry_port_may_name_no_host():
    """As HTTP/1.0 allows: load balancers ask like that."""
    assert (await told_by_telemetry(b"GET /health/live HTTP/1.0\r\n\r\n")).startswith(b"HTTP/1.1 200 ")


HALVES = {
    "a head": (GET, 408),
    "a method": (b"GE", 408),
    "a body": (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf", 408),
    "a chunk": (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhalf", 408),
    "nothing": (b"", None),
}


@pytest.mark.parametrize("what", HALVES)
async def test_half_a_request_is_closed_after_its_time(app, what):
    sent, status = HALVES[what]
    async with port_of(app, request_timeout=1.0) as port:
        answer = await exchange(port, sent)
    if status:
        refused(answer, status, CODES[status])
    else:
        assert answer == b""
    assert set(app.messages) <= {"http.request", "http.disconnect"}
    if app.calls:
        await asyncio.wait_for(app.gone.wait(), 240)


@pytest.mark.parametrize("drip", [b"X: 1\r\n", b"1\r\na\r\n"])
async def test_a_byte_now_and_then_wins_no_time(app, drip):
    start = GET if drip[:1] == b"X" else GET + b"Transfer-Encoding: chunked\r\n\r\n"
    async with port_of(app, request_timeout=1.0) as port, connection(port) as (reader, writer), asyncio.timeout(240):
        writer.write(start)
        answer = asyncio.create_task(reader.read(-1))
        while not answer.done():
            writer.write(drip)
            await asyncio.wait([answer], timeout=0.02)
        with contextlib.suppress(ConnectionResetError):  # what was on its way when the server closed
            assert (await answer).startswith(b"HTTP/1.1 408 ")


async def test_half_a_request_behind_a_whole_one_is_closed_too(app):
    async with port_of(app, request_timeout=1.0) as port:
        answer = await exchange(port, GET + b"\r\n" + GET)
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert answer.count(b"HTTP/1.1 408 ") == 1


async def test_the_time_ends_with_the_request_and_begins_with_the_next(app):
    """An answer may take longer than a request may: streams stay open."""
    async with port_of(app, request_timeout=1.0) as port, connection(port) as (reader, writer):
        app.hold.clear()
        writer.write(GET + b"\r\n")
        async with connection(port) as (other, _):
            assert await asyncio.wait_for(other.read(-1), 240) == b""  # opened later, and late already
        app.hold.set()
        assert (await asyncio.wait_for(reader.readuntil(b"ok"), 240)).startswith(b"HTTP/1.1 200 ")


async def test_nine_hundred_half_requests_are_all_closed(app):
    async with port_of(app, request_timeout=5.0, max_connections_per_address=1000) as port:
        answers = await asyncio.gather(*(exchange(port, GET) for _ in range(900)))
    assert {answer[:12] for answer in answers} == {b"HTTP/1.1 408"}


async def test_an_answer_that_nobody_reads_is_given_up(app):
    app.answer = b"a" * 50_000_000
    async with port_of(app, request_timeout=1.0) as port, connection(port) as (_, writer):
        writer.transport.pause_reading()
        writer.write(GET + b"\r\n")
        await eventually(lambda: app.calls)
        async with connection(port, "127.0.0.2") as (_, second):
            second.write(GET)
        await eventually(lambda: _gone(writer))


def _gone(writer) -> bool:
    """Whether the peer has reset the connection: writing is how one learns of it without reading."""
    writer.write(b"\r\n")
    return writer.is_closing()


async def test_one_address_has_a_bounded_number_of_connections(app):
    get = GET + b"Connection: close\r\n\r\n"
    async with port_of(app, max_connections_per_address=5, trusted_proxies=(ip_network("127.0.0.3"),)) as port:
        async with contextlib.AsyncExitStack() as stack:
            for source in ["127.0.0.1"] * 5 + ["127.0.0.3"] * 20:
                reader, writer = await stack.enter_async_context(connection(port, source))
                writer.write(GET + b"\r\n")
                assert await reader.readuntil(b"ok")
            before = catalog.value("leadwire_connections_refused_total", limit="address")
            refused(await exchange(port), 503, "unavailable")
            assert catalog.value("leadwire_connections_refused_total", limit="address") == before + 1
            assert (await exchange(port, get, source="127.0.0.2")).startswith(b"HTTP/1.1 200 ")
            assert (await exchange(port, get, source="127.0.0.3")).startswith(b"HTTP/1.1 200 ")
        assert await eventually(lambda: _served(port, get))


async def test_all_together_have_a_bounded_number_of_connections(app):
    get = GET + b"Connection: close\r\n\r\n"
    async with port_of(app, max_connections=5) as port:
        async with contextlib.AsyncExitStack() as stack:
            for number in range(5):
                reader, writer = await stack.enter_async_context(connection(port, f"127.0.1.{number}"))
                writer.write(GET + b"\r\n")
                assert await reader.readuntil(b"ok")
            before = catalog.value("leadwire_connections_refused_total", limit="process")
            refused(await exchange(port, source="127.0.0.2"), 503, "unavailable")
            assert catalog.value("leadwire_connections_refused_total", limit="process") == before + 1
        assert await eventually(lambda: _served(port, get))


async def _served(port, request) -> bool:
    return (await exchange(port, request)).startswith(b"HTTP/1.1 200 ")


async def test_requests_that_wait_behind_one_are_bounded(app):
    app.hold.clear()
    async with port_of(app) as port:
        async with connection(port) as (reader, writer):
            writer.write((GET + b"\r\n") * 5000)
            with contextlib.suppress(ConnectionResetError):
                assert await asyncio.wait_for(reader.read(-1), 240) == b""
        app.hold.set()
    assert app.calls <= 1


async def test_while_it_leaves_each_answer_is_the_last_of_its_connection(app):
    """A proxy keeps connections. One that is closed while it sends loses the request, as a restart once did."""
    leaving = asyncio.Event()
    async with on_socket(app, leaving=leaving.is_set) as url:
        port = int(url.rpartition(":")[2])
        async with connection(port) as (reader, writer), asyncio.timeout(240):
            writer.write(GET + b"\r\n")
            assert b"connection: close" not in (await reader.readuntil(b"ok")).lower()
            leaving.set()
            writer.write(GET + b"\r\n")
            told = await reader.read(-1)
        assert told.startswith(b"HTTP/1.1 200 ")
        assert b"connection: close" in told.lower()
        assert (await exchange(port, GET + b"\r\n")).startswith(b"HTTP/1.1 200 "), "the proxy may not know it yet"
