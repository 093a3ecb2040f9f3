"""A workspace under load moves to another installation and back; each move is killed, or cut off from its source."""

import asyncio
import contextlib
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import asyncpg

from leadwire.infrastructure.settings import Settings
from leadwire_development.embedded import services
from ops.chaos import load
from ops.chaos.cluster import ManagedProcess
from ops.chaos.journal import free_port
from ops.drills.proxy import Proxy
from ops.drills.sandbox import Sandbox

RUNBOOK = "src/leadwire/docs/operating.md"
ENDPOINTS = ("shop", "ordered", "flaky")
SETTINGS = {"SECRET_KEY": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}
_OTHER_KEY = "YmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmI="
_EVERY = 0.1  # seconds between two changes of a workspace
_LONGEST = 3.0  # seconds until a move is killed
_MOVES = "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND classid = 7227 AND granted"


class Cell:
    """An installation: its environment, and the port of its API."""

    def __init__(self, environment: Mapping[str, str], ports: Sequence[int]) -> None:
        self.environment, self.ports = dict(environment), ports
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
    with _installation() as second:
        await _done(await second.run("migrate"))
        arguments = (("serve", "--port", str(second.ports[0])), ("relay",), ("deliver",), ("background",))
        processes = [
            ManagedProcess(f"second-{name[0]}", list(name), second.environment, second.directory) for name in arguments
        ]
        try:
            for process in processes:
                await process.start()
            await sandbox.ready(second.ports[0])
            await _there_and_back(sandbox, Cell(os.environ, sandbox.ports), second)
        finally:
            await asyncio.gather(*(process.stop() for process in processes))


@contextlib.contextmanager
def _installation() -> Iterator[Cell]:
    """Another PostgreSQL and another Redis, with another key."""
    directory = Path(tempfile.mkdtemp(prefix="leadwire-cell-"))
    directory.chmod(0o711)  # as root the servers run as `nobody`
    try:
        with services(Settings(data_dir=directory)) as running:
            own = {
                "LEADWIRE_DATA_DIR": str(directory),
                "LEADWIRE_DATABASE_URL": running.database_url,
                "LEADWIRE_REDIS_URL": running.redis_url,
                "LEADWIRE_SECRET_KEY": _OTHER_KEY,
                "LEADWIRE_HEADER_PREFIX": "X-Deliver-3-",
            }
            yield Cell({**os.environ, **own}, [free_port()])
    finally:
        shutil.rmtree(directory, ignore_errors=True)


async def _there_and_back(sandbox: Sandbox, first: Cell, second: Cell) -> None:
    workspace = sandbox.workload.workspace
    other = await load.create_data({}, 0, "Other")
    stop = asyncio.Event()
    async with Proxy(first.ports) as proxy:
        others = asyncio.create_task(load.change_until(other, f"http://127.0.0.1:{first.ports[0]}", stop, _EVERY))
        changes = asyncio.create_task(load.change_until(sandbox.workload, proxy.url, stop, _EVERY))
        for source, target in ((first, second), (second, first)):
            await asyncio.sleep(3)
            began = time.monotonic()
            sandbox.say(await _moved(sandbox, source, target, workspace))
            proxy.lead_to(target.ports)
            sandbox.say(f"keys lead there now, {time.monotonic() - began:.1f} s after the move was begun")
            await asyncio.sleep(6)  # requests that know the old way
            output = await _done(await source.run("workspaces", "delete", workspace, "--yes", "Chaos"))
            sandbox.claim("what was left of it is deleted", "is deleted" in output)
        stop.set()
        accepted, untouched = await changes, await others
    await sandbox.settled()
    lost = {name: sandbox.missing(accepted, name) for name in ENDPOINTS}
    sandbox.claim(f"of {len(accepted)} changes none is lost: {lost}", not any(lost.values()))
    sandbox.say(f"{sandbox.receiver.doubled()} deliveries of {len(sandbox.receiver.posts)} were repeated")
    waited = max(one.accepted - one.asked for one in accepted)
    sandbox.say(f"{sum(one.tries > 1 for one in accepted)} changes were refused first, for {waited:.1f} s at most")
    again = sum(one.tries > 1 for one in untouched)
    sandbox.claim(f"of {len(untouched)} changes of another workspace none was refused: {again}", again == 0)
    await sandbox.balanced()


async def _moved(sandbox: Sandbox, source: Cell, target: Cell, workspace: str) -> str:
    """Move it: killed once, then cut off from its source once, each at some moment; then to the end."""
    move = ("workspaces", "move", workspace, "--from", str(source.file))
    for how in ("killed", "cut off from its source"):
        process = await target.run(*move)
        pids = await source.moves(pause := random.uniform(0, _LONGEST), process)
        if how == "killed" and process.returncode is None:
            process.kill()
        await source.cut_off(pids)
        said = (await process.communicate())[0].decode().strip()
        sandbox.say(f"{how} {pause:.1f} s after it began{'' if pids else ' (it had ended)'}: {said[-200:]}")
    return await _done(await target.run(*move))


async def _done(process: asyncio.subprocess.Process) -> str:
    """Wait for a command. Return its last line. Raise RuntimeError when it fails."""
    output = (await process.communicate())[0].decode().strip()
    if process.returncode:
        raise RuntimeError(output)
    return output.splitlines()[-1] if output else ""
