"""Where a drill takes place: servers, processes, a receiver and load; what is done, seen and claimed is printed."""

import asyncio
import contextlib
import logging
import os
import sys
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import httpx

from leadwire.development.embedded import Services
from leadwire.infrastructure import db
from leadwire.infrastructure.db.migrations import migrate
from ops.chaos import ledger, load
from ops.chaos.journal import free_port
from ops.chaos.payload import Told
from ops.chaos.records import Accepted
from ops.chaos.stage import Part
from ops.drills.receiver import Receiver
from ops.drills.servers import Servers

_LINES: Final = 14  # of a command's output that are shown
_MOST: Final = 3000  # changes of one drill


class Scene:
    """See `opened`."""

    def __init__(self, servers: Servers, receiver: Receiver, world: load.World, environment: Mapping[str, str]) -> None:
        self.servers = servers
        self.receiver = receiver
        self.failed = 0
        self._environment = environment
        self._world = world
        self._changes = load.changes(world, _MOST, 7)
        self._asked = 0
        self._began = time.monotonic()
        logs = Path(environment["LEADWIRE_DATA_DIR"]) / "logs"
        logs.mkdir(exist_ok=True)
        self._logs = logs
        self.ports = [free_port(), free_port()]
        self.serves = [self._part(f"serve-{n}", "serve", "--port", str(port)) for n, port in enumerate(self.ports, 1)]
        self.relays = [self._part(f"relay-{n}", "relay") for n in (1, 2)]
        self.workers = [self._part(f"deliver-{n}", "deliver", HEADER_PREFIX=f"X-Deliver-{n}-") for n in (1, 2)]

    def _part(self, name: str, *arguments: str, **settings: str) -> Part:
        own = {f"LEADWIRE_{key}": value for key, value in settings.items()}
        return Part(name, list(arguments), {**self._environment, **own}, self._logs)

    @property
    def parts(self) -> list[Part]:
        """Every process."""
        return [*self.serves, *self.relays, *self.workers]

    async def start(self) -> None:
        """Start every process; return when the API is ready."""
        for part in self.parts:
            await part.start()
        for port in self.ports:
            await self.ready(port)

    async def stop(self) -> None:
        """Stop every process."""
        await asyncio.gather(*(part.stop() for part in self.parts))

    async def ready(self, port: int, seconds: float = 60.0) -> None:
        """Return when the API on `port` says that it is ready."""
        end = time.monotonic() + seconds
        async with httpx.AsyncClient(trust_env=False) as client:
            while time.monotonic() < end:
                with contextlib.suppress(httpx.HTTPError):
                    if (await client.get(f"http://127.0.0.1:{port}/health/ready")).is_success:
                        return
                await asyncio.sleep(0.05)
        raise RuntimeError("the API does not get ready")

    async def restarted(self, part: Part) -> None:
        """SIGTERM, wait for its end, start it anew; return when it says that it runs."""
        log = self._logs / f"{part.name}.log"
        before = log.read_text().count("process.started")
        await part.stop()
        await part.start()
        while log.read_text().count("process.started") == before:
            await asyncio.sleep(0.02)

    def say(self, text: str) -> None:
        """Tell what is done."""
        print(f"{time.monotonic() - self._began:6.1f} s  {text}", flush=True)

    def claim(self, text: str, true: bool) -> None:
        """Say what must be so, and whether it is."""
        self.failed += not true
        self.say(f"{'ok    ' if true else 'FAILED'}  {text}")

    async def command(self, *arguments: str, showing: str = "") -> tuple[int, str]:
        """What the person on call types: the exit code and the output, of which the lines with `showing` are shown."""
        self.say(f"$ leadwire {' '.join(arguments)}")
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "leadwire", *arguments),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=dict(self._environment),
        )
        output = (await process.communicate())[0].decode()
        lines = [line for line in output.splitlines() if showing in line]
        for line in lines[:_LINES]:
            print(f"            {line[:140]}", flush=True)
        if len(lines) > _LINES:
            print(f"            ... {len(lines) - _LINES} more lines", flush=True)
        return process.returncode or 0, output

    async def push(self, count: int, rate: float, url: str = "") -> list[Accepted]:
        """Make so many further changes through the API, `rate` a second; each is asked for until it is accepted."""
        first, self._asked = self._asked, self._asked + count
        assert self._asked <= _MOST
        share = [[one for one in mine if first <= one.number < self._asked] for mine in self._changes]
        return await load.push(self._world, url or f"http://127.0.0.1:{self.ports[0]}", share, rate, first)

    async def quiet(self, seconds: float = 90.0) -> None:
        """Wait until nothing is owed to anybody."""
        end, start = time.monotonic() + seconds, time.monotonic()
        while time.monotonic() < end:
            with contextlib.suppress(*db.GONE):
                if not await ledger.unfinished(self._world.workspace):
                    self.say(f"nothing is owed any more, after {time.monotonic() - start:.1f} s")
                    return
            await asyncio.sleep(0.1)
        self.claim(f"nothing is owed any more, after {seconds:g} s", False)

    async def states(self) -> Mapping[str, int]:
        """How many deliveries are in each state."""
        return await ledger.deliveries(self._world.workspace)

    def missing(self, accepted: Sequence[Accepted], endpoint: str) -> int:
        """How many of these changes the endpoint has not acknowledged an event of."""
        return len({told(one) for one in accepted} - set(self.receiver.acknowledged(endpoint)))

    def late(self, accepted: Sequence[Accepted], endpoint: str) -> list[float]:
        """Seconds from each answer of the API to the arrival of its event, ascending; of those that arrived."""
        arrived = self.receiver.acknowledged(endpoint)
        return sorted(arrived[told(one)] - one.accepted for one in accepted if told(one) in arrived)

    async def balanced(self) -> None:
        """Claim that the ledger finds nothing."""
        code, _ = await self.command("ledger", showing="ledger")
        self.claim("the ledger is balanced", code == 0)


def told(accepted: Accepted) -> Told:
    """What the event of a change tells."""
    number = accepted.number if accepted.kind == "lead.updated" else None
    return Told(accepted.kind, accepted.subject, number)


@contextlib.asynccontextmanager
async def opened(running: Services, directory: Path, endpoints: Sequence[str]) -> AsyncIterator[Scene]:
    """Everything there, nothing running yet. The settings of the drill are in the environment already."""
    logging.getLogger("asyncpg").addHandler(logging.NullHandler())  # the database goes away: we know
    await db.open_pool(os.environ["LEADWIRE_DATABASE_URL"], 4)
    await migrate()
    async with Receiver() as receiver:
        world = await load.furnish({name: receiver.url(name) for name in endpoints}, _MOST)
        scene = Scene(Servers(running, directory), receiver, world, dict(os.environ))
        try:
            await scene.start()
            yield scene
        finally:
            await scene.stop()
            await db.close_pool()
            await scene.servers.close()
