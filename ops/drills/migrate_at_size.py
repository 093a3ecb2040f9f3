"""Tables of an earlier version, with many leads, are migrated while changes come in and a dump holds them all.

    uv run python -m ops.drills.migrate_at_size [--leads 1000000] [--rate 10] [--commit X] [--dump 20] [--runs 1]

Begins with the version of `--commit`, or else with the one before the last migration. Checks that no change is refused
and that none of the time between two accepted ones is 3 s or longer; the same time without a migration is measured
before, to compare. Each of `--runs` is on servers of its own, and a table of all comes at the end. Not among
`python -m ops.drills`, because of what it takes to make a million leads.
"""

import argparse
import asyncio
import itertools
import sys
import time
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

import httpx

from leadwire.infrastructure import db
from leadwire.infrastructure.db.migrations import files
from ops.bench.api import data
from ops.chaos.payload import FIELD
from ops.drills.__main__ import play
from ops.drills.proxy import Proxy
from ops.drills.sandbox import Sandbox
from ops.drills.upgrade import Version, begin, install_commit

_LONGEST: Final = 3.0  # seconds without an accepted change
_BEFORE: Final = 10.0  # seconds of changes before the migration
_TABLES: Final = """
SELECT string_agg(format('%I', tablename), ', ') FROM pg_tables WHERE schemaname = 'public'"""

_WAITED_FOR: Final = "SELECT count(*) > 0 FROM pg_stat_activity WHERE $1 = ANY(pg_blocking_pids(pid))"


class Asked(NamedTuple):
    """A change: when it was asked for and answered, by the clock that only goes on, and the status, or 0."""

    at: float
    answered: float
    status: int


class Measured(NamedTuple):
    """Of the changes of some time: how many there were, how many were refused, and seconds."""

    asked: int
    refused: int
    silence: float
    slowest: float


class Drill(NamedTuple):
    """Tables of an earlier version are migrated while changes come in and a dump holds them all."""

    leads: int
    rate: float
    commit: str
    dump: float
    rows: list[str]  # of the table, a line for each run

    RUNBOOK = "src/leadwire/docs/upgrade.md"
    ENDPOINTS = ("shop",)
    SETTINGS = MappingProxyType[str, str]({})

    def begin(self, directory: Path) -> Version:
        """Install the version to begin with."""
        version = install_commit(self.commit, directory) if self.commit else begin(directory)
        older = len(list((version.checkout / "migrations").glob("*.py")))
        print(f"   {len(files()) - older} migrations to apply", flush=True)
        return version

    async def run(self, sandbox: Sandbox) -> None:
        """Migrate under load."""
        sandbox.say(f"{self.leads:,} leads, {self.leads // 2:,} conversations are made")
        with db.acting_as("maintenance"):  # as long as it takes
            await data.fill_workspace(sandbox.workload.workspace, self.leads, 2)
        stop, asked = asyncio.Event(), list[Asked]()
        async with Proxy(sandbox.ports) as proxy:
            sending = asyncio.create_task(self._change(proxy.url, sandbox, stop, asked))
            await asyncio.sleep(_BEFORE)
            began = time.monotonic()
            dump = asyncio.create_task(self._dump(sandbox))
            sandbox.python = sys.executable
            code, _ = await sandbox.command("migrate")
            ended = time.monotonic()
            await dump
            stop.set()
            await sending
        sandbox.claim(f"the migration ended after {ended - began:.1f} s", code == 0)
        before = _judge(sandbox, "before it", [one for one in asked if one.at < began])
        meanwhile = _judge(sandbox, "meanwhile", [one for one in asked if began <= one.at < ended])
        await sandbox.settled()
        await sandbox.balanced()
        self.rows.append(
            f"{len(self.rows) + 1:>3} {meanwhile.refused:>7} of {meanwhile.asked:<6} {before.silence:>9.2f} s"
            f" {meanwhile.silence:>9.2f} s {meanwhile.slowest:>9.2f} s {ended - began:>9.1f} s"
            f"  {'FAILED' if sandbox.failed else 'ok'}"
        )

    async def _change(self, url: str, sandbox: Sandbox, stop: asyncio.Event, asked: list[Asked]) -> None:
        """Ask for `rate` changes a second, each once, however long the others take."""
        headers = {"Authorization": f"Bearer {sandbox.workload.key}"}
        limits = httpx.Limits(max_connections=500, keepalive_expiry=2)  # before `serve` ends a connection, after 5 s
        async with (
            httpx.AsyncClient(base_url=url, headers=headers, timeout=30, limits=limits, trust_env=False) as client,
            asyncio.TaskGroup() as tasks,
        ):
            began = time.monotonic()
            for number, lead in enumerate(itertools.cycle(sandbox.workload.leads)):
                if stop.is_set():
                    return
                tasks.create_task(_ask(client, lead, number, asked))
                await asyncio.sleep(max(0.0, began + number / self.rate - time.monotonic()))

    async def _dump(self, sandbox: Sandbox) -> None:
        """Hold what pg_dump holds: a snapshot, and a lock of each table."""
        connection = await sandbox.servers.connect()
        await connection.execute("SET application_name = 'pg_dump'; BEGIN ISOLATION LEVEL REPEATABLE READ")
        await connection.execute(f"LOCK TABLE {await connection.fetchval(_TABLES)} IN ACCESS SHARE MODE")
        sandbox.say("a dump holds all tables")
        while not await db.value(_WAITED_FOR, connection.get_server_pid()):
            await asyncio.sleep(0.05)
        sandbox.say(f"it is waited for, and goes on for {self.dump:g} s")
        await asyncio.sleep(self.dump)
        await connection.close()
        sandbox.say("the dump has ended")


async def _ask(client: httpx.AsyncClient, lead: str, number: int, asked: list[Asked]) -> None:
    at, status = time.monotonic(), 0
    try:
        answer = await client.patch(f"/v1/leads/{lead}", json={"custom_fields": {FIELD: number}})
        status = answer.status_code
    except httpx.HTTPError as error:
        print(f"            {type(error).__name__}: {error}", flush=True)
    asked.append(Asked(at, time.monotonic(), status))


def _judge(sandbox: Sandbox, when: str, asked: list[Asked]) -> Measured:
    refused = [one.status for one in asked if one.status != 200]
    answered = sorted(one.answered for one in asked if one.status == 200)
    silence = max((later - earlier for earlier, later in itertools.pairwise(answered)), default=0.0)
    slowest = max((one.answered - one.at for one in asked), default=0.0)
    sandbox.claim(f"{when}: {len(refused)} of {len(asked)} changes were refused {refused[:5] or ''}", not refused)
    sandbox.claim(
        f"{when}: the longest silence was {silence:.2f} s, the slowest took {slowest:.2f} s", silence < _LONGEST
    )
    return Measured(len(asked), len(refused), silence, slowest)


def main() -> int:
    """Play it and return the exit code."""
    options = argparse.ArgumentParser(prog="python -m ops.drills.migrate_at_size")
    options.add_argument("--leads", type=int, default=1_000_000)
    options.add_argument("--rate", type=float, default=10, help="changes a second")
    options.add_argument("--commit", default="", help="of the version to begin with: one that works as a whole")
    options.add_argument("--dump", type=float, default=20, help="seconds that a dump goes on once it is waited for")
    options.add_argument("--runs", type=int, default=1)
    asked, rows = vars(options.parse_args()), list[str]()
    failed = sum(play("migrate-at-size", Drill(**asked, rows=rows)) for _ in range(asked.pop("runs")))
    print(f"\nrun {'refused':>17} {'silence before':>14} {'meanwhile':>11} {'slowest':>11} {'migration':>11}")
    print("\n".join(rows))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
