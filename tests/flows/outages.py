"""Everything of Leadwire at work, while what it stands on fails."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from datetime import datetime
from itertools import pairwise

import asyncpg
import httpx

from leadwire_development.embedded import Server, Services
from tests.flows.commands import free_port, run
from tests.flows.telemetry import address, scraped
from tests.waiting import eventually

LONGEST_PAUSE = 6.0  # seconds, of the retry backoff with its jitter
SLACK = 240.0  # for a machine that is busy with other tests: what was given up takes for ever


class Outage:
    """Everything of Leadwire at work, and its servers to be taken away."""

    def __init__(self, deployment, running: Services, http: httpx.AsyncClient) -> None:
        self.deployment = deployment
        self.running = running
        self.http = http

    async def begin(self) -> None:
        self.port = free_port()
        self.serve = await self.deployment.start("serve", "--port", str(self.port))
        self.relay = await self.deployment.start("relay")
        self.worker = await self.deployment.start("deliver")
        self.background = await self.deployment.start("background")
        self.all = (self.serve, self.relay, self.worker, self.background)
        self.starts()

    def starts(self) -> None:
        """What was logged until now is not of the outage: a start on a busy machine has failures of its own."""
        self._before = {process: len(process.logged()) for process in self.all}

    def failures(self, process, *events, loop=None):
        """When each of these was logged, in seconds; of one of the relay's loops, or of all."""
        lines = process.logged()[self._before[process] :]
        of_loop = [line for line in lines if loop in (None, line.get("loop"))]
        return [datetime.fromisoformat(line["at"]).timestamp() for line in of_loop if line["event"] in events]

    @contextlib.asynccontextmanager
    async def without(self, name: str):
        """A server is stopped for the length of the block, and started again."""
        self.starts()
        stopped = self.running.servers[name]
        stopped.ask_to_stop()
        await asyncio.to_thread(stopped.join, 240)
        assert not stopped.is_alive()
        try:
            yield
        finally:
            back = self.running.servers[name] = Server(stopped._plan)
            await asyncio.to_thread(back.wait_ready)
            if name == "PostgreSQL":
                self.deployment.sql.terminate()
                self.deployment.sql = await asyncpg.connect(self.deployment.settings["DATABASE_URL"])

    async def get(self, process, path: str) -> tuple[int, dict]:
        answer = await self.http.get(f"{address(process)}{path}")
        return answer.status_code, answer.json()

    @contextlib.asynccontextmanager
    async def api(self) -> AsyncIterator[httpx.AsyncClient]:
        """The API, with a key that may do everything."""
        made = await asyncio.to_thread(run, "keys", "create", "--name", "test", "--json", **self.deployment.settings)
        headers = {"Authorization": f"Bearer {json.loads(made.stdout)['key']}"}
        async with httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{self.port}", headers=headers, trust_env=False, timeout=240
        ) as client:
            yield client

    async def ready(self, process) -> bool:
        return (await self.get(process, "/health/ready"))[0] == 200

    async def metric(self, process, *name) -> float | None:
        return (await scraped(self.http.get, process)).get(name)

    async def metric_is(self, process, value: float | None, *name) -> bool:
        return await self.metric(process, *name) == value

    async def says(self, process, status: int, check: str, words: str) -> bool:
        """Whether its readiness has this status and says these words of a check."""
        found, said = await self.get(process, "/health/ready")
        return found == status and words in said["checks"].get(check, "")

    async def all_there(self, pids) -> None:
        """Ready again within the longest pause, and the same processes as before."""
        for process in self.all:
            await eventually(lambda process=process: self.ready(process), LONGEST_PAUSE + SLACK)
            assert process.running(), process.err
        assert [process.process.pid for process in self.all] == pids


def pids(outage):
    return [process.process.pid for process in outage.all]


def out_of_memory(process, event):
    """Whether a line of this event says that Redis has no memory."""
    return any(line.get("error", "").startswith("OutOfMemoryError: ") for line in process.logged(event))


def assert_bounded(times):
    """One loop tried again with growing pauses: not in a hurry, and never given up."""
    assert len(times) >= 3
    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert max(gaps) < LONGEST_PAUSE + SLACK
    assert sum(gap < 0.05 for gap in gaps) <= 2, gaps
