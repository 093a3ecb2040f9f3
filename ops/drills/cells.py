"""A workspace under load moves to another installation and back; each is killed, cut off and loses a PostgreSQL."""

import asyncio
import contextlib
import json
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import asyncpg

from leadwire.infrastructure.settings import Settings
from leadwire_development.embedded import services
from ops.chaos import load
from ops.chaos.cluster import ManagedProcess
from ops.chaos.journal import free_port
from ops.chaos.records import Accepted
from ops.drills.cell_proxy import cell_proxy
from ops.drills.sandbox import FIGURES, Sandbox
from ops.drills.servers import Servers

RUNBOOK = "src/leadwire/docs/operating.md"
ENDPOINTS = ("shop", "ordered", "flaky")
SETTINGS = {"SECRET_KEY": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}
_OTHER_KEY = "YmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmI="
_BAR = 5.0  # seconds for which a move may refuse changes
_EVERY = 0.1  # seconds between two changes of a workspace
_LONGEST = 3.0  # seconds until a move is killed
_TRIES = 10  # of a move, after a failover
_RECOVERED = 15.0  # seconds after a promotion
_MOVES = "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND classid = 7227 AND granted"


def database_url(servers: Servers) -> str:
    """Both hosts: each process finds for itself which one takes changes."""
    hosts = f"{servers.run},{servers.standby_run}"
    return f"postgresql://postgres@/leadwire?host={hosts}&port=5432,5432&target_session_attrs=read-write"


class Cell:
    """An installation: its name, environment, servers, and the ports of its API."""

    def __init__(self, name: str, environment: Mapping[str, str], servers: Servers, ports: Sequence[int]) -> None:
        self.name, self.environment, self.servers, self.ports = name, dict(environment), servers, ports
        self.directory = Path(environment["LEADWIRE_DATA_DIR"])
        self.file = self.directory / "cell.env"
        names = ("LEADWIRE_DATABASE_URL", "LEADWIRE_SECRET_KEY")
        self.file.write_text("".join(f"{name}={environment[name]}\n" for name in names))

    async def run(self, *arguments: str) -> asyncio.subprocess.Process:
        """Begin a command."""
        pipe, none = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "leadwire", *arguments),
            stdin=none,
            stdout=pipe,
            stderr=asyncio.subprocess.STDOUT,
            env=self.environment,
        )

    async def moves(self, after: float, move: asyncio.subprocess.Process) -> list[int]:
        """Wait until a move takes a workspace away, and some seconds more. Return its connection, if it goes on."""
        connection = await asyncpg.connect(self.environment["LEADWIRE_DATABASE_URL"])
        while not await connection.fetch(_MOVES) and move.returncode is None:
            await asyncio.sleep(0.05)
        await asyncio.sleep(after)
        found = [row["pid"] for row in await connection.fetch(_MOVES)]
        await connection.close()
        return found

    async def cut_off(self, pids: list[int]) -> None:
        """End connections."""
        connection = await asyncpg.connect(self.environment["LEADWIRE_DATABASE_URL"])
        await connection.execute("SELECT pg_terminate_backend(pid) FROM unnest($1::int[]) AS moving (pid)", pids)
        await connection.close()


async def run(sandbox: Sandbox) -> None:
    """Nothing is lost, whoever is killed; the other workspace of the first cell does not notice."""
    await sandbox.servers.add_standby()
    first = Cell("cell_a", os.environ, sandbox.servers, sandbox.ports)
    with _installation() as second:
        await second.servers.add_standby()
        await _done(await second.run("migrate"))
        arguments = (("serve", "--port", str(second.ports[0])), ("relay",), ("deliver",), ("background",))
        processes = [
            ManagedProcess(f"second-{name[0]}", list(name), second.environment, second.directory) for name in arguments
        ]
        try:
            for process in processes:
                await process.start()
            await sandbox.ready(second.ports[0])
            await _there_and_back(sandbox, first, second)
        finally:
            await asyncio.gather(*(process.stop() for process in processes))
            await second.servers.close()


@contextlib.contextmanager
def _installation() -> Iterator[Cell]:
    """Another PostgreSQL and another Redis, with another key."""
    directory = Path(tempfile.mkdtemp(prefix="leadwire-cell-"))
    directory.chmod(0o711)  # as root the servers run as `nobody`
    try:
        with services(Settings(data_dir=directory)) as running:
            servers = Servers(running, directory)
            own = {
                "LEADWIRE_DATA_DIR": str(directory),
                "LEADWIRE_DATABASE_URL": database_url(servers),
                "LEADWIRE_REDIS_URL": running.redis_url,
                "LEADWIRE_SECRET_KEY": _OTHER_KEY,
                "LEADWIRE_HEADER_PREFIX": "X-Deliver-3-",
            }
            yield Cell("cell_b", {**os.environ, **own}, servers, [free_port()])
    finally:
        shutil.rmtree(directory, ignore_errors=True)


async def _there_and_back(sandbox: Sandbox, first: Cell, second: Cell) -> None:
    workspace = sandbox.workload.workspace
    other = await load.create_data({}, 0, "Other")
    stop, closed, failovers = asyncio.Event(), [], []
    ports = {cell.name: cell.ports for cell in (first, second)}
    loses_source = random.random() < 0.5  # each PostgreSQL has one standby: so there that of one side, back that of it
    with cell_proxy(second.directory, ports, await _done(await first.run("workspaces", "map", first.name))) as proxy:
        others = asyncio.create_task(load.change_until(other, f"http://127.0.0.1:{first.ports[0]}", stop, _EVERY))
        changes = asyncio.create_task(load.change_until(sandbox.workload, proxy.url, stop, _EVERY))
        for source, target in ((first, second), (second, first)):
            await asyncio.sleep(3)
            began = time.monotonic()
            loser = source if loses_source else target
            seconds = [
                await _interrupted(sandbox, source, target, how) for how in ("killed", "cut off from its source")
            ]
            failed_at = time.time()
            seconds.append(await _interrupted(sandbox, source, target, "without a PostgreSQL", loser))
            failovers.append((failed_at, time.time() + _RECOVERED))
            moved = await _moved(sandbox, source, target)
            closed.append(max(*seconds, moved["closed_seconds"]))
            await proxy.lead(moved["map"])
            sandbox.say(f"keys lead there now, {time.monotonic() - began:.1f} s after the move was begun")
            output = await _done(await source.run("workspaces", "delete", workspace, "--yes", "Chaos"))
            sandbox.claim("what was left of it is deleted", "is deleted" in output)
        await asyncio.sleep(3)
        stop.set()
        accepted, untouched = await changes, await others
    await sandbox.settled()
    lost = sum(sandbox.missing(accepted, name) for name in ENDPOINTS)
    sandbox.claim(f"of {len(accepted)} changes none is lost: {lost}", lost == 0)
    sandbox.claim("changes were refused for less than 5 s in each move", max(closed) < _BAR)
    quiet, disturbed = _waited(accepted, failovers)
    again = sum(bool(one.refusals) for one in _outside(untouched, failovers))
    sandbox.claim(f"of {len(untouched)} changes of another workspace none was refused: {again}", again == 0)
    await sandbox.balanced()
    figures = {
        "lost server": "source, then source" if loses_source else "target, then target",
        "changes": len(accepted), "lost": lost, "deliveries": len(sandbox.receiver.posts),
        "repeated": sandbox.receiver.doubled(), "refused there": f"{closed[0]:.1f} s",
        "refused back": f"{closed[1]:.1f} s", "longest wait": f"{quiet:.1f} s",
        "with a failover": f"{disturbed:.1f} s", "failed": sandbox.failed,
    }  # fmt: skip
    print(f"{FIGURES}{json.dumps(figures)}", flush=True)


def _outside(changes: Sequence[Accepted], failovers: Sequence[tuple[float, float]]) -> list[Accepted]:
    """Those that were not under way while a PostgreSQL was away, or a moment later."""
    return [one for one in changes if all(one.accepted < began or one.asked > end for began, end in failovers)]


def _waited(changes: Sequence[Accepted], failovers: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The longest wait for a change, retries included: outside of failovers, and in all."""
    waits = {one.number: one.accepted - one.asked for one in changes}
    return max(waits[one.number] for one in _outside(changes, failovers)), max(waits.values())


def _move(sandbox: Sandbox, source: Cell, target: Cell) -> Sequence[str]:
    options = ("--from", str(source.file), "--cell", target.name, "--json")
    return "workspaces", "move", sandbox.workload.workspace, *options


async def _interrupted(sandbox: Sandbox, source: Cell, target: Cell, how: str, loser: Cell | None = None) -> float:
    """Begin a move that is killed at some moment, or cut off from its source, or where a PostgreSQL dies and a standby
    is promoted. Return for how many seconds it has refused changes, if it had ended before.
    """
    process = await target.run(*_move(sandbox, source, target))
    pids = await source.moves(pause := random.uniform(0, _LONGEST), process)
    if loser:
        await loser.servers.lose_primary()
        await loser.servers.promote()
    elif how == "killed" and process.returncode is None:
        process.kill()
    if not loser:
        await source.cut_off(pids)
    said = (await process.communicate())[0].decode().strip()
    side = f" ({'source' if loser is source else 'target'}'s)" if loser else ""
    sandbox.say(f"{how}{side} {pause:.1f} s after it began{'' if pids else ': it had ended'}: {said[-200:]}")
    return float(_result(said)["closed_seconds"]) if process.returncode == 0 else 0.0


async def _moved(sandbox: Sandbox, source: Cell, target: Cell) -> Mapping[str, Any]:
    """Move it to the end. Return what the command says."""
    for _ in range(_TRIES):
        with contextlib.suppress(RuntimeError):
            moved = _result(await _done(await target.run(*_move(sandbox, source, target))))
            sandbox.say(f"moved; changes were refused for {moved['closed_seconds']:.2f} s")
            return moved
        await asyncio.sleep(1)
    raise RuntimeError("the move does not end")


def _result(said: str) -> Mapping[str, Any]:
    """The document, behind the lines of the log."""
    result: Mapping[str, Any] = json.loads(said[said.index("{") :])
    return result


async def _done(process: asyncio.subprocess.Process) -> str:
    """Wait for a command. Return what it says. Raise RuntimeError when it fails."""
    output = (await process.communicate())[0].decode().strip()
    if process.returncode:
        raise RuntimeError(output)
    return output
