"""The measures. CPU is user and system time of the process that does the work, by the operating system's account."""

import asyncio
import os
import resource
import sys
import time
from typing import NamedTuple, Self

import httpx
from pyreqwest.client import ClientBuilder

from leadwire import clock, db, ids, redis_pool
from leadwire.accounts import changes as accounts
from leadwire.bots import changes as bots
from leadwire.conversations import changes as conversations
from leadwire.conversations.schema import Origin
from leadwire.settings import Settings
from leadwire.webhooks import changes as webhooks
from leadwire.webhooks.samples import SAMPLES
from leadwire.wire import envelope, signing
from leadwire.wire.relay.loop import Relay
from ops.bench.delivery.sink import Sink

_ENDPOINTS = 80  # as many windows as take the relay's events at once
_RECEIVERS = 20
_TICK = os.sysconf("SC_CLK_TCK")


class Speed(NamedTuple):
    """Per second, and microseconds of CPU each."""

    rate: float
    cpu: float


async def _fresh() -> None:
    tables = "attempt, delivery, outbox_event, webhook_endpoint, message, conversation, lead, bot, api_key, workspace"
    await db.rows(f"TRUNCATE {tables} CASCADE")
    client = redis_pool.client()
    assert client is not None
    await client.flushall()


async def _workspaces(url: str, count: int) -> list[str]:
    """Workspaces with an endpoint each, every admission window open."""
    made = [await accounts.create_workspace(f"bench {n}") for n in range(count)]
    for workspace in made:
        endpoint = await webhooks.create(workspace, url, ["lead.created"])
        await webhooks.enable(workspace, endpoint.id)
    await db.rows("UPDATE webhook_endpoint SET admission_window = 256")
    return made


async def _commit(workspaces: list[str], count: int) -> None:
    """Committed events, unrelayed."""
    body = envelope.encode(
        "lead.created", clock.now(), SAMPLES["lead.created"] | {"custom_fields": {"note": "x" * 500}}
    )
    columns = ["id", "workspace_id", "kind", "body", "occurred_at"]
    rows = [(ids.new("evt"), workspaces[n % len(workspaces)], "lead.created", body, clock.now()) for n in range(count)]
    async with db.DB.pool.acquire() as connection:
        await connection.copy_records_to_table("outbox_event", records=rows, columns=columns)
    await db.rows("ANALYZE")


async def relay(chosen: Settings) -> Speed:
    """One relay, as many events as the windows take at once, so that every one becomes a stream entry."""
    await _fresh()
    count = _ENDPOINTS * 256
    await _commit(await _workspaces("http://127.0.0.1:9/".replace(":9/", ":8999/"), _ENDPOINTS), count)
    client = redis_pool.client()
    assert client is not None
    one = Relay(client, chosen)
    await one.step()  # makes partitions, prepares statements
    left = await db.value("SELECT count(*) FROM outbox_event WHERE relayed_at IS NULL")
    start, before = time.perf_counter(), _own_cpu()
    while await db.value("SELECT EXISTS (SELECT 1 FROM outbox_event WHERE relayed_at IS NULL)"):
        await one.step()
    took, cpu = time.perf_counter() - start, _own_cpu() - before
    streamed = sum([await client.xlen(f"leadwire:{{deliveries:{n}}}") for n in range(chosen.stream_shards)])
    assert streamed == count, f"{streamed} of {count} were streamed"
    return Speed(left / took, cpu / left * 1e6)


async def drain(sink: Sink, count: int) -> Speed:
    """Real relay and worker processes, until everything committed beforehand has arrived."""
    await _fresh()
    await _commit(await _workspaces(sink.url, _RECEIVERS), count)
    base = await sink.count()
    async with _Process("relay"), _Process("deliver") as worker:
        while await sink.count() - base < count // 10:  # past the start
            await asyncio.sleep(0.01)
        first, start, before = await sink.count(), time.perf_counter(), worker.cpu()
        while await sink.count() - base < count:
            await asyncio.sleep(0.02)
        took, done = time.perf_counter() - start, count - (first - base)
        while await db.value("SELECT EXISTS (SELECT 1 FROM delivery WHERE state <> 'delivered')"):
            await asyncio.sleep(0.02)
        cpu = worker.cpu() - before
    return Speed(done / took, cpu / done * 1e6)


async def latency(rate: float, seconds: float) -> list[float]:
    """Seconds from each commit to its arrival, at a steady rate of real changes."""
    await _fresh()
    async with Sink() as sink, _Process("relay"), _Process("deliver"):
        workspace = await accounts.create_workspace("bench")
        bot = await bots.create(workspace, "bench")
        endpoint = await webhooks.create(workspace, sink.url, ["message.sent"])
        await webhooks.enable(workspace, endpoint.id)
        talks = [await conversations.start(workspace, bot, Origin()) for _ in range(50)]
        committed: dict[str, float] = {}

        async def change(number: int) -> None:
            message = await conversations.say(workspace, talks[number % len(talks)], "bot", f"line {number}")
            committed[message.id] = time.monotonic()

        for number in range(100):  # both processes are up when these have arrived
            await change(number)
        while await sink.count() < len(committed):
            await asyncio.sleep(0.05)
        await sink.seen()
        committed.clear()
        tasks, start = [], time.perf_counter()
        for number in range(int(rate * seconds)):
            await asyncio.sleep(max(0.0, start + number / rate - time.perf_counter()))
            tasks.append(asyncio.create_task(change(number)))
        await asyncio.gather(*tasks)
        arrived: dict[str, float] = {}
        while len(arrived) < len(committed):
            arrived |= await sink.seen()
            await asyncio.sleep(0.1)
        rows = await db.rows("SELECT id, body FROM outbox_event WHERE kind = 'message.sent'")
    message_of = {row["id"]: row["body"].split('"data":{"id":"')[1].split('"')[0] for row in rows}
    return [at - committed[message_of[event]] for event, at in arrived.items() if message_of[event] in committed]


async def bare_httpx(url: str, count: int) -> float:
    """Microseconds of CPU per signed POST by httpx.AsyncClient with its own transport."""
    limits = httpx.Limits(max_connections=64, max_keepalive_connections=64)
    async with httpx.AsyncClient(limits=limits, trust_env=False) as client:
        return await _loop(count, lambda headers, body: client.post(url, headers=headers, content=body))


async def bare_pyreqwest(url: str, count: int) -> float:
    """The same by pyreqwest alone."""
    client = ClientBuilder().no_proxy().http1_only().build()
    return await _loop(count, lambda headers, body: client.post(url).headers(headers).body_bytes(body).build().send())


async def _loop(count: int, post) -> float:
    secret, body, left = signing.new_secret(), b"x" * 900, [count]

    async def work() -> None:
        while left[0] > 0:
            left[0] -= 1
            await post(
                signing.headers(
                    event_id="evt_1", body=body, secret=secret, staged=None, at=1, attempt=1, prefix="X-Service-"
                ),
                body,
            )

    before = _own_cpu()
    await asyncio.gather(*(work() for _ in range(64)))
    return (_own_cpu() - before) / count * 1e6


def _own_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


class _Process:
    """A `leadwire` process."""

    def __init__(self, command: str) -> None:
        self._command = command

    async def __aenter__(self) -> Self:
        null = asyncio.subprocess.DEVNULL
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "leadwire", self._command, stdout=null, stderr=null
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        self._process.terminate()
        await self._process.wait()

    def cpu(self) -> float:
        """Seconds of CPU so far, all threads."""
        with open(f"/proc/{self._process.pid}/stat") as stat:  # noqa: PTH123
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / _TICK
