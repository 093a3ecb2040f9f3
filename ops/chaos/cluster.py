"""The system under test: real processes and servers, each restarted when it ends unless a fault keeps it down."""

import asyncio
import contextlib
import importlib.util
import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Self

import httpx
import msgspec
from redis.asyncio import Redis

from leadwire.infrastructure import clock
from leadwire.infrastructure.process import SUPERVISED
from leadwire_development.embedded import Server, Services
from ops.chaos.customer import Customer
from ops.chaos.journal import Journal
from ops.chaos.proxy import LossyProxy

BACKGROUND: Final = importlib.util.find_spec("leadwire.processes.background") is not None
"""Whether the version under test has a process for jobs. Earlier ones, to which a run may be compared, have none."""
_START_LIMIT: Final = 300.0  # seconds


class ManagedProcess:
    """One `leadwire` process, started again whenever it ends, after a pause. Its log is a file.

    `python` is the interpreter that it is started with next; what it imports is the version that runs. `prefix` is the
    beginning of its command: what runs a program on another host, for example.
    """

    def __init__(
        self,
        name: str,
        arguments: list[str],
        environment: Mapping[str, str],
        logs: Path,
        prefix: Sequence[str] = (),
    ) -> None:
        self.name = name
        self.python = sys.executable
        self._prefix = prefix
        self.busy = asyncio.Lock()  # one fault at a time
        self.fell = 0  # times it ended without a fault of ours
        self._arguments = arguments
        self.environment = {**environment, SUPERVISED: "1"}  # it ends when we do: its standard input is our pipe
        self._log = logs / f"{name}.log"
        self._pause = 0.2
        self._expected = False
        self._keeping: asyncio.Task[None] | None = None

    @property
    def running(self) -> bool:
        """Whether it has been started and not stopped."""
        return self._keeping is not None

    async def start(self) -> None:
        """Start it, and restart it whenever it ends."""
        await self._launch()
        self._keeping = asyncio.create_task(self._keep())

    async def kill(self, pause: float) -> None:
        """SIGKILL; returns when it has been started again, `pause` seconds later.

        One that has just ended by itself, as it does when it starts without its database, is started again first.
        """
        code = None
        while code != -signal.SIGKILL:
            self._pause, self._expected = pause, True
            doomed = self._process
            with contextlib.suppress(ProcessLookupError):
                doomed.kill()
            code = await doomed.wait()
            while self._process is doomed:
                await asyncio.sleep(0.01)

    async def freeze(self, seconds: float) -> None:
        """SIGSTOP, and SIGCONT after `seconds`."""
        frozen = self._process
        frozen.send_signal(signal.SIGSTOP)
        try:
            await asyncio.sleep(seconds)
        finally:
            with contextlib.suppress(ProcessLookupError):
                frozen.send_signal(signal.SIGCONT)

    async def stop(self) -> None:
        """SIGTERM, then SIGKILL."""
        if self._keeping:
            self._keeping.cancel()
            self._keeping = None
        with contextlib.suppress(ProcessLookupError):
            self._process.terminate()
            try:
                await asyncio.wait_for(self._process.wait(), 10)
            except TimeoutError:
                self._process.kill()
                await self._process.wait()

    async def replace(self) -> None:
        """SIGTERM, and start it again with what is in `environment` now. Return when it says that it runs."""
        before = self._log.read_text().count("process.started")
        await self.stop()
        await self.start()
        while self._log.read_text().count("process.started") == before:
            await asyncio.sleep(0.02)

    def lines(self, event: str) -> list[dict[str, Any]]:
        """Return its log lines with this event."""
        found = [line for line in self._log.read_bytes().split(b"\n") if b'"%s"' % event.encode() in line]
        return [line for line in map(_line, found) if line.get("event") == event]

    async def _launch(self) -> None:
        with self._log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *(*self._prefix, self.python, "-m", "leadwire", *self._arguments),
                stdin=asyncio.subprocess.PIPE,
                stdout=log,
                stderr=log,
                env=self.environment,
                start_new_session=True,
            )

    async def _keep(self) -> None:
        while True:
            await self._process.wait()
            self.fell += not self._expected
            await asyncio.sleep(self._pause)
            self._pause, self._expected = 0.2, False
            await self._launch()


class Deployment:
    """`async with Deployment(...) as deployment`: `processes` that run, with the API at `url`."""

    def __init__(self, url: str, environment: Mapping[str, str]) -> None:
        self.url = url
        self.environment = {name: text for name, text in os.environ.items() if not name.startswith("LEADWIRE_")}
        self.environment |= environment
        self.serves: list[ManagedProcess] = []
        self.relays: list[ManagedProcess] = []
        self.workers: list[ManagedProcess] = []
        self.backgrounds: list[ManagedProcess] = []

    @property
    def processes(self) -> list[ManagedProcess]:
        """Return every process."""
        return [*self.serves, *self.relays, *self.workers, *self.backgrounds]

    async def __aenter__(self) -> Self:
        for process in self.processes:
            await process.start()
        end = time.monotonic() + _START_LIMIT
        async with httpx.AsyncClient(trust_env=False) as client:
            while True:
                with contextlib.suppress(httpx.HTTPError):
                    if (await client.get(f"{self.url}/health/ready")).is_success:
                        return self
                if time.monotonic() > end:
                    raise RuntimeError("the API does not answer")
                await asyncio.sleep(0.05)

    async def __aexit__(self, *_: object) -> None:
        await asyncio.gather(*(process.stop() for process in self.processes))

    def logged(self, event: str, since: float = 0.0) -> list[dict[str, Any]]:
        """Return the log lines of all processes with this event, from `since` on (Unix time)."""
        lines = [line for process in self.processes for line in process.lines(event)]
        return [line for line in lines if clock.parse(line["at"]).timestamp() >= since]

    async def command(self, *arguments: str) -> tuple[int, bytes]:
        """Run a `leadwire` command on this deployment. Return its exit code and its output."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "leadwire", *arguments),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            env=self.environment,
        )
        output, _ = await process.communicate()
        return process.returncode or 0, output


class Cluster(Deployment):
    """One `serve`, two of each other process, and the servers."""

    def __init__(
        self, running: Services, environment: Mapping[str, str], directory: Path, port: int, proxy: LossyProxy
    ) -> None:
        super().__init__(f"http://127.0.0.1:{port}", environment)
        logs = directory / "logs"
        logs.mkdir(exist_ok=True)
        proxied = self.environment | {"LEADWIRE_REDIS_URL": proxy.url}
        self.serves = [ManagedProcess("serve", ["serve", "--port", str(port)], proxied, logs)]
        self.relays = [ManagedProcess(f"relay-{n}", ["relay"], proxied, logs) for n in (1, 2)]
        self.workers = [ManagedProcess(f"deliver-{n}", ["deliver"], self.environment | sender(n), logs) for n in (1, 2)]
        if BACKGROUND:
            self.backgrounds = [ManagedProcess(f"background-{n}", ["background"], proxied, logs) for n in (1, 2)]
        self.proxy, self.proxy_busy = proxy, asyncio.Lock()  # what adds to the streams reaches Redis through it
        self.postgres, self.valkey = running.servers["PostgreSQL"], running.servers["Valkey"]
        self.servers_busy = {self.postgres.name: asyncio.Lock(), self.valkey.name: asyncio.Lock()}
        self.append_log = next((directory / "servers").resolve().rglob("appendonlydir"))
        self.redis = Redis.from_url(running.redis_url)
        self.victim: Customer  # whose rows and entries are bad at times
        self.beside: Sequence[str] = ()  # endpoints of others, whose receivers answer at once
        self.journal: Journal

    async def __aexit__(self, *_: object) -> None:
        await super().__aexit__()
        await self.redis.aclose()

    async def back(self, server: Server, before: int) -> None:
        """Wait until a server that ran as process `before` runs as another process and answers."""
        while server.pid() in (0, before):
            await asyncio.sleep(0.01)
        await asyncio.to_thread(server.wait_ready)


def _line(text: bytes) -> dict[str, Any]:
    """Return a log line; an empty one for half a line of a process that was killed."""
    with contextlib.suppress(msgspec.DecodeError):
        return msgspec.json.decode(text, type=dict[str, Any])
    return {}


def sender(number: int) -> dict[str, str]:
    """Return the setting of a worker by which the journal knows who sent what: its own headers' prefix."""
    return {"LEADWIRE_HEADER_PREFIX": f"X-Deliver-{number}-"}
