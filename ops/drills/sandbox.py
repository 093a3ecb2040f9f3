"""The system a drill runs on: servers, processes, a receiver and load. It prints actions, findings and checks."""

import asyncio
import contextlib
import logging
import math
import os
import sys
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import httpx

from leadwire.infrastructure import db
from leadwire.infrastructure.db.migrations import migrate
from leadwire_development.embedded import Services
from ops.chaos import ledger, load
from ops.chaos.cluster import ManagedProcess
from ops.chaos.journal import free_port
from ops.chaos.payload import EventKey
from ops.chaos.records import Accepted
from ops.drills.receiver import Receiver
from ops.drills.servers import Servers

FIGURES: Final = "figures: "
"""What the line of a drill begins with that `--runs` puts into a table: a JSON object."""
_QUICK: Final = 1.0  # seconds
_LINES: Final = 14  # of a command's output that are shown
_MOST: Final = 3000  # changes of one drill


class Sandbox:
    """See `prepared`."""

    def __init__(
        self,
        servers: Servers,
        receiver: Receiver,
        workload: load.Workload,
        environment: Mapping[str, str],
        python: str,
    ) -> None:
        self.servers = servers
        self.receiver = receiver
        self.python = python  # of the version that starts from now on
        self.failed = 0
        self.redis: Any = None
        """A Sentinel group or a cluster, where the drill is about one."""
        self._environment = environment
        self.workload = workload
        self._changes = load.changes(workload, _MOST, 7)
        self._asked = 0
        self._began = time.monotonic()
        self.directory = Path(environment["LEADWIRE_DATA_DIR"])
        logs = self.directory / "logs"
        logs.mkdir(exist_ok=True)
        self._logs = logs
        self.ports = [free_port(), free_port()]
        self.serves = [
            self._process(f"serve-{n}", "serve", "--port", str(port)) for n, port in enumerate(self.ports, 1)
        ]
        self.relays = [self._process(f"relay-{n}", "relay") for n in (1, 2)]
        self.workers = [self._process(f"deliver-{n}", "deliver", HEADER_PREFIX=f"X-Deliver-{n}-") for n in (1, 2)]
        self.backgrounds = [self._process(f"background-{n}", "background") for n in (1, 2)]
        for process in self.backgrounds:
            process.python = sys.executable  # a version to upgrade from may have no such command

    def _process(self, name: str, *arguments: str, **settings: str) -> ManagedProcess:
        own = {f"LEADWIRE_{key}": value for key, value in settings.items()}
        made = ManagedProcess(name, list(arguments), {**self._environment, **own}, self._logs)
        made.python = self.python
        return made

    @property
    def processes(self) -> list[ManagedProcess]:
        """Every process."""
        return [*self.serves, *self.relays, *self.workers, *self.backgrounds]

    async def start(self) -> None:
        """Start every process; return when the API is ready."""
        for process in self.processes:
            await process.start()
        for port in self.ports:
            await self.ready(port)

    async def stop(self) -> None:
        """Stop every process."""
        await asyncio.gather(*(process.stop() for process in self.processes))

    async def ready(self, port: int, seconds: float = 240.0) -> None:
        """Wait until the API on `port` is ready."""
        end = time.monotonic() + seconds
        async with httpx.AsyncClient(trust_env=False) as client:
            while time.monotonic() < end:
                with contextlib.suppress(httpx.HTTPError):
                    if (await client.get(f"http://127.0.0.1:{port}/health/ready")).is_success:
                        return
                await asyncio.sleep(0.05)
        lines = [line for log in sorted(self._logs.iterdir()) for line in log.read_text().splitlines()[-3:]]
        raise RuntimeError("\n".join(("the API does not get ready", *lines)))

    async def restarted(self, process: ManagedProcess) -> None:
        """Stop a process with SIGTERM, start it again, by now with `python`, and wait until it runs."""
        process.python = self.python
        await process.replace()

    def say(self, text: str) -> None:
        """Print an action."""
        print(f"{time.monotonic() - self._began:6.1f} s  {text}", flush=True)

    def claim(self, text: str, true: bool) -> None:
        """Print a check and whether it passed."""
        self.failed += not true
        self.say(f"{'ok    ' if true else 'FAILED'}  {text}")

    async def command(self, *arguments: str, showing: str = "") -> tuple[int, str]:
        """Run a command. Return its exit code and its output, of which the lines with `showing` are printed."""
        self.say(f"$ leadwire {' '.join(arguments)}")
        process = await asyncio.create_subprocess_exec(
            *(self.python, "-m", "leadwire", *arguments),
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

    async def send_changes(
        self, count: int, rate: float, url: str = "", patience: float = load.PATIENCE
    ) -> list[Accepted]:
        """Make `count` more changes through the API, `rate` a second. Each is retried until it is accepted.

        `patience` in seconds is for each request: a long one where a slow machine must not look like a refusal.
        """
        first, self._asked = self._asked, self._asked + count
        assert self._asked <= _MOST
        share = [[one for one in mine if first <= one.number < self._asked] for mine in self._changes]
        return await load.send_changes(
            self.workload, url or f"http://127.0.0.1:{self.ports[0]}", share, rate, first, patience
        )

    async def settled(self, seconds: float = 240.0) -> None:
        """Wait until everything is delivered."""
        end, start = time.monotonic() + seconds, time.monotonic()
        while time.monotonic() < end:
            with contextlib.suppress(*db.GONE):
                if not await ledger.unfinished(self.workload.workspace):
                    self.say(f"nothing is owed any more, after {time.monotonic() - start:.1f} s")
                    return
            await asyncio.sleep(0.1)
        self.claim(f"nothing is owed any more, after {seconds:g} s", False)

    async def states(self) -> Mapping[str, int]:
        """Return the number of deliveries in each state."""
        return await ledger.deliveries(self.workload.workspace)

    def took_all(self, accepted: Sequence[Accepted]) -> None:
        """Check that the API took each of these changes the first time; else print what it said instead."""
        for one in accepted:
            if one.refusals:
                self.say(f"change {one.number}, asked for at {one.asked:.2f}: {', '.join(one.refusals)}")
        self.claim(f"the API took all {len(accepted)} changes meanwhile", not any(one.refusals for one in accepted))

    def missing(self, accepted: Sequence[Accepted], endpoint: str) -> int:
        """How many of these changes the endpoint has not acknowledged an event of."""
        return len({event_key(one) for one in accepted} - set(self.receiver.acknowledged(endpoint)))

    def late(self, accepted: Sequence[Accepted], endpoint: str) -> list[float]:
        """Seconds from each answer of the API to the arrival of its event, ascending; of those that arrived."""
        arrived = self.receiver.acknowledged(endpoint)
        return sorted(arrived[event_key(one)] - one.accepted for one in accepted if event_key(one) in arrived)

    def recovered(self, accepted: Sequence[Accepted], endpoint: str, since: float) -> None:
        """Print the seconds from `since` (Unix time) until a change was accepted again, and until every later one
        arrived within a second.
        """
        after = [one for one in accepted if one.accepted >= since]
        arrived = self.receiver.acknowledged(endpoint)
        slow = [one.accepted for one in after if arrived[event_key(one)] - one.accepted > _QUICK]
        first = min((one.accepted for one in after), default=math.inf) - since
        quick = max(slow, default=since) - since
        self.say(f"recovered: the first change is accepted after {first:.1f} s")
        self.say(
            f"recovered: webhooks arrive within {_QUICK:g} s of their change again after {max(first, quick):.1f} s"
        )

    async def balanced(self) -> None:
        """Check that `leadwire ledger` finds no error."""
        code, _ = await self.command("ledger", showing="ledger")
        self.claim("the ledger is balanced", code == 0)


def event_key(accepted: Accepted) -> EventKey:
    """Return the key of the event of a change."""
    number = accepted.number if accepted.kind == "lead.updated" else None
    return EventKey(accepted.kind, accepted.subject, number)


@contextlib.asynccontextmanager
async def prepared(running: Services, directory: Path, drill: Any) -> AsyncIterator[Sandbox]:
    """Create everything, start every process. The settings of the drill must be in the environment.

    A drill may say with `begin` which version it begins with (`upgrade.Version`); else it is this one.
    """
    logging.getLogger("asyncpg").addHandler(logging.NullHandler())  # the database goes away: we know
    await db.open_pool(os.environ["LEADWIRE_DATABASE_URL"], 4, role="engine")  # leaves a server that is frozen
    async with Receiver() as receiver:
        urls = {name: receiver.url(name) for name in drill.ENDPOINTS}
        if hasattr(drill, "begin"):
            version = await asyncio.to_thread(drill.begin, directory)
            workload, python = await asyncio.to_thread(version.create_data, urls, _MOST), version.python
        else:
            await migrate()
            workload, python = await load.create_data(urls, _MOST), sys.executable
        receiver.secrets = workload.secrets
        sandbox = Sandbox(Servers(running, directory), receiver, workload, dict(os.environ), python)
        try:
            await sandbox.start()
            yield sandbox
        finally:
            await sandbox.stop()
            await db.close_pool()
            await sandbox.servers.close()
