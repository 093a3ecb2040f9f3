"""The load of the race counts what it sends and what arrives, once, twice or never, and times it from the plan."""

import asyncio
import json
import time

import pytest
from ops.bench.race import load as race
from ops.bench.race.__main__ import table
from ops.bench.race.load import Load


class Service:
    """Posts what it is sent to the receiver: every fifth never, every seventh twice; refuses every eleventh."""

    def __init__(self, url: str) -> None:
        self._port = int(url.strip("/").rsplit(":", 1)[1])
        self.count = 0
        self.asked: dict[int, float] = {}  # when, by the number of the request
        self.posting: set[asyncio.Task[None]] = set()
        self.answering: set[asyncio.Task[None] | None] = set()

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.answering.add(asyncio.current_task())
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                body = await reader.readexactly(int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0]))
                self.count = number = self.count + 1
                self.asked[int(json.loads(body)["data"]["mark"].rpartition("-")[2])] = time.monotonic()
                if number % 11 == 0:
                    writer.write(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n")
                    continue
                for _ in range(0 if number % 5 == 0 else 2 if number % 7 == 0 else 1):
                    task = asyncio.create_task(self._post(body))
                    self.posting.add(task)
                    task.add_done_callback(self.posting.discard)
                writer.write(b"HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\n\r\n{}")
        except asyncio.IncompleteReadError:
            writer.close()
            await writer.wait_closed()

    async def _post(self, body: bytes) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        head = f"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        writer.write(head + body[:20])
        await asyncio.sleep(0)  # in two pieces
        writer.write(body[20:])
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 204 ")
        writer.close()
        await writer.wait_closed()


def request(mark: str) -> bytes:
    body = json.dumps({"data": {"mark": mark, "pad": "x" * 100}})
    return f"POST /events HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()


@pytest.mark.parametrize("how", [{"rate": 200}, {"clients": 4}])
async def test_what_is_lost_doubled_and_refused_is_counted(how, monkeypatch):
    monkeypatch.setattr(race, "_LOOKS", 15)
    async with Load(0) as load:
        service = Service(load.url)
        server = await asyncio.start_server(service.answer, "127.0.0.1", 0)
        target = race.Service(server.sockets[0].getsockname(), request, {})
        for _ in range(2):  # the second round on connections of the first
            before = service.count
            await load.run(target, 0.5, **how)
            sent = len(load.planned)
            assert sent == service.count - before
            assert sent == 100 or "clients" in how
            numbers = [n for n in range(before + 1, service.count + 1) if n % 11]
            assert [status[:3] for status in load.refused] == ["503"] * (sent - len(numbers))
            assert load.lost == sum(n % 5 == 0 for n in numbers)
            assert len(load.arrived) == len(load.accepted) - load.lost
            assert load.doubled == sum(n % 7 == 0 and n % 5 > 0 for n in numbers)
            assert all(load.planned[n] <= service.asked[n] <= load.arrived[n] for n in load.arrived)
        server.close()
        await asyncio.gather(*service.posting)
    await asyncio.gather(*service.answering)  # each ends with its connection


async def test_a_service_that_is_not_there_refuses_all():
    async with Load(0) as load:
        await load.run(race.Service(("127.0.0.1", 1), request, {}), 0.1, rate=100)
        assert len(load.refused) == len(load.planned) == 10


def test_the_table_compares_with_each_of_the_others_and_the_bar():
    ours = {"p50 ms": 6.6, "p99 ms": 12.0, "events/s": 99.5, "CPU ms": 4.0}
    lines = list(table({"leadwire": {"100/s": ours}, "svix": {"100/s": ours | {"p50 ms": 3.3}}, "before": {}}))
    assert next(line for line in lines if "p50" in line).split() == "100/s p50 ms 6.60 3.30! 3.30 2.00 - -".split()
    assert next(line for line in lines if "CPU" in line).split() == "100/s CPU ms 4.00 4.00 4.00 1.00 - -".split()


def test_a_rate_is_to_be_reached_beside_each_peer():
    found = {name: {"32 clients": {"events/s": rate}} for name, rate in (("ours", 900.0), ("svix", 600.0))}
    assert [line.split()[3:] for line in table(found)][1:] == [["900.00", "900.00", "600.00", "1.50"]]
    found["outpost"] = {"32 clients": {"events/s": 1000.0}}
    assert [line.split()[4] for line in table(found)][1:] == ["1100.00!"]
