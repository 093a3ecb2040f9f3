"""The service is away for 20 s, is killed, and is replaced under load. Who follows it goes on, and has every event."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import Final

from leadwire.domain.leads import changes as leads
from leadwire.domain.leads.schema import LeadPatch
from leadwire.domain.webhooks import receivers
from leadwire.infrastructure import db
from ops.chaos import load
from ops.drills import rolling_restart
from ops.drills.integrator import Integrator, Program
from ops.drills.proxy import Proxy
from ops.drills.sandbox import Sandbox

RUNBOOK = "src/leadwire/docs/clients.md"
ENDPOINTS = ("shop",)
SETTINGS: dict[str, str] = {}
_AWAY: Final = 20.0  # seconds
_EVERY: Final = 0.5  # seconds between two changes meanwhile
_LATE: Final = 60.0  # seconds: what is measured here is who goes on, not how fast
_AGAIN: Final = 480.0  # seconds: one at a time takes long, and what was fetched by the dead comes again after 90
_KINDS: Final = ",".join(load.KINDS)

_PYTHON: Final = f"""
import os
from leadwire_client import Leadwire

with Leadwire(os.environ["KEY"], os.environ["URL"]) as lw:
    for event in lw.events.list(types="{_KINDS}", follow=True):
        print(event.id, flush=True)
"""
_TYPESCRIPT: Final = f"""
import {{ Leadwire }} from "@leadwire/client";

const lw = new Leadwire(process.env.KEY, process.env.URL);
for await (const event of lw.events.list({{ types: "{_KINDS}", follow: true }})) console.log(event.id);
"""
_FETCHING: Final = """
import asyncio
import os
from leadwire_client import AsyncReceiver


async def work() -> None:
    async with AsyncReceiver(os.environ["TOKEN"], os.environ["URL"], os.environ["SECRET"]) as leadwire:
        async for delivery in leadwire.deliveries(limit=10):
            if await delivery.acknowledge():
                print(delivery.event.id, flush=True)


asyncio.run(work())
"""


async def run(sandbox: Sandbox) -> None:
    """No follower of either language has ended, and none lacks an event, after each of the three."""
    async with Proxy(sandbox.ports) as proxy, _hooks() as hooks:
        own = Integrator(sandbox, proxy.url)
        try:
            await own.install()
            files = {"follow.py": _PYTHON, "fetching.py": _FETCHING, "follow.mts": _TYPESCRIPT}
            await own.typed(files)
            programs = await _start(sandbox, own, hooks)
            await sandbox.send_changes(200, 40, proxy.url)
            await _all_have(sandbox, programs, "before anything")
            await _outage(sandbox)
            await _all_have(sandbox, programs, f"after {_AWAY:g} s without the service")
            await _killed(sandbox, proxy.url)
            await _all_have(sandbox, programs, "after kill -9 of it")
            await rolling_restart.replace(sandbox, _LATE, _AGAIN)
            await _all_have(sandbox, programs, "after a rolling upgrade")
        finally:
            await own.close()


async def _start(sandbox: Sandbox, own: Integrator, hooks: str) -> list[Program]:
    """Start every kind of follower, with an endpoint each where deliveries are fetched."""
    told = []
    for name in ("fetching", "forwarding"):
        made = await load.create_endpoint(sandbox.workload.workspace, name, f"pull:{name}")
        token = await receivers.make_token(sandbox.workload.workspace, made.id)
        told.append({"TOKEN": token, "LEADWIRE_TOKEN": token, "SECRET": made.secret})
    return [
        await own.start("python follow", "python", "follow.py"),
        await own.start("typescript follow", "node", "follow.mjs"),
        await own.start("AsyncReceiver", "python", "fetching.py", **told[0]),
        await own.start(
            "python -m leadwire_client", "python", "-m", "leadwire_client", hooks, "--url", own.environment["URL"],
            **told[1],
        ),
    ]  # fmt: skip


@contextlib.asynccontextmanager
async def _hooks() -> AsyncIterator[str]:
    """A program that takes everything. Yields its address."""

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer), contextlib.suppress(asyncio.IncompleteReadError, OSError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                await reader.readexactly(int(head.partition(b"content-length:")[2].split(b"\r")[0]))
                writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")

    server = await asyncio.start_server(take, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"


async def _outage(sandbox: Sandbox) -> None:
    """No `serve` for 20 s, while the other processes go on and events happen."""
    await asyncio.gather(*(process.stop() for process in sandbox.serves))
    sandbox.say("no process of the API runs")
    for number in range(int(_AWAY / _EVERY)):
        lead = sandbox.workload.leads[number]
        patch = LeadPatch(custom_fields={"away": number})
        await leads.update(sandbox.workload.workspace, lead, patch, unchanged={})
        await asyncio.sleep(_EVERY)
    for process, port in zip(sandbox.serves, sandbox.ports, strict=True):
        await process.start()
        await sandbox.ready(port)
    sandbox.say("the API is back")


async def _killed(sandbox: Sandbox, url: str) -> None:
    """Kill every `serve` twice amid changes."""
    sending = asyncio.create_task(sandbox.send_changes(400, 40, url))
    for _ in range(2):
        await asyncio.sleep(2)
        await asyncio.gather(*(process.kill(1.0) for process in sandbox.serves))
        sandbox.say("every process of the API was killed, and is started again")
    await sending


async def _all_have(sandbox: Sandbox, programs: Sequence[Program], when: str) -> None:
    """Check that each follower lives and, given time, has every event."""
    rows = await db.rows(
        "SELECT id FROM event WHERE workspace_id = $1 AND kind = ANY($2)", sandbox.workload.workspace, [*load.KINDS]
    )
    events = {row["id"] for row in rows}
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_AGAIN):
            while any(events - _ids(one) for one in programs):
                await asyncio.sleep(0.2)
    for one in programs:
        missing = len(events - _ids(one))
        sandbox.claim(f"{when}: {one.name} lives, and lacks {missing} of {len(events)}", one.lives and not missing)


def _ids(program: Program) -> set[str]:
    """The events that it has had. What `leadwire_client` brings is had once the program has answered."""
    return {
        word for line in program.lines() if "comes again" not in line for word in line.split() if word[:4] == "evt_"
    }
