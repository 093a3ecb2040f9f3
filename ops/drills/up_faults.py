"""What can go wrong with a `leadwire up`: each fault is there inside a block, and ended after it."""

import asyncio
import contextlib
import os
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import asyncpg
from redis.asyncio import Redis

from ops.chaos.journal import free_port
from ops.drills.receiver import Receiver

NAMES: Final = ("one", "two", "three")
"""Of the endpoints, at their receiver."""
_SMALL: Final = 2 << 30  # bytes
_REFUSING: Final = """
CREATE FUNCTION drill() RETURNS trigger LANGUAGE plpgsql
AS $$ BEGIN RAISE 'drill: this event cannot be relayed'; END $$;
CREATE TRIGGER drill BEFORE DELETE ON outbox FOR EACH ROW EXECUTE FUNCTION drill()"""
_NEWEST: Final = """DELETE FROM migration WHERE app_name = 'leadwire'
AND name = (SELECT max(name) FROM migration WHERE app_name = 'leadwire') RETURNING name, app_name, ran_on"""


class Up(NamedTuple):
    """What a fault is brought about on: what `up.json` says, the ids of the three endpoints, and their receiver."""

    told: dict[str, Any]
    endpoints: list[str]
    receiver: Receiver

    async def database(self) -> asyncpg.Connection:
        return await asyncpg.connect(self.told["database_url"])

    async def command(self, *arguments: str) -> None:
        """Run a command. Raise RuntimeError with its words."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "leadwire", *arguments), stderr=-1, stdout=asyncio.subprocess.DEVNULL
        )
        if said := (await process.communicate())[1] * bool(process.returncode):
            raise RuntimeError(said.decode())

    async def says(self, *arguments: str) -> str:
        """Run a command that may find something wrong, and return all that it says."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "leadwire", *arguments), stdout=-1, stderr=asyncio.subprocess.STDOUT
        )
        return (await process.communicate())[0].decode()


Fault = Callable[[Up], AbstractAsyncContextManager[None]]


@asynccontextmanager
async def _locked(up: Up) -> AsyncIterator[None]:
    connection = await up.database()
    await connection.execute("BEGIN; LOCK TABLE webhook_endpoint IN ACCESS EXCLUSIVE MODE")
    yield
    await connection.close()


@asynccontextmanager
async def _stopped(pids: Sequence[int]) -> AsyncIterator[None]:
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def _process(name: str) -> Fault:
    return lambda up: _stopped([one["pid"] for one in up.told["processes"] if one["name"] == name])


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@asynccontextmanager
async def _postgres(up: Up) -> AsyncIterator[None]:
    connection = await up.database()
    postmaster = int((await connection.fetchval("SELECT pg_read_file('postmaster.pid')")).split()[0])
    async with _stopped([postmaster]), _stopped(_children(postmaster)):  # it first: then it has no further children
        yield
    await connection.close()


@asynccontextmanager
async def _redis(up: Up) -> AsyncIterator[None]:
    async with Redis.from_url(up.told["redis_url"]) as client:
        pid = (await client.info("server"))["process_id"]
    async with _stopped([pid]):
        yield


@asynccontextmanager
async def _refused(up: Up) -> AsyncIterator[None]:
    up.receiver.answers |= dict.fromkeys(NAMES, 500)
    yield
    up.receiver.answers.clear()


@asynccontextmanager
async def _unreached(up: Up) -> AsyncIterator[None]:
    """The endpoints have an address at which nobody listens."""
    for endpoint in up.endpoints:
        await up.command("endpoints", "configure", endpoint, "--url", f"http://127.0.0.1:{free_port()}/")
    yield
    for endpoint, name in zip(up.endpoints, NAMES, strict=True):
        await up.command("endpoints", "configure", endpoint, "--url", up.receiver.url(name))


@asynccontextmanager
async def _unrelayed(up: Up) -> AsyncIterator[None]:
    """Events of an endpoint with a rate pass the relay, which cannot take them out of the outbox."""
    connection = await up.database()
    await up.command("endpoints", "configure", up.endpoints[0], "--rate", "6000")
    await connection.execute(_REFUSING)
    yield
    await connection.execute("DROP FUNCTION drill() CASCADE")
    await connection.close()
    await up.command("set-aside", "release")


@asynccontextmanager
async def _unmigrated(up: Up) -> AsyncIterator[None]:
    connection = await up.database()
    (row,) = await connection.fetch(_NEWEST)
    yield
    await connection.execute("INSERT INTO migration (name, app_name, ran_on) VALUES ($1, $2, $3)", *row)
    await connection.close()


@asynccontextmanager
async def _full(_: Up) -> AsyncIterator[None]:
    directory = Path(os.environ["LEADWIRE_DATA_DIR"])
    if shutil.disk_usage(directory).total > _SMALL:
        raise SystemExit("TMPDIR leads to a file system that is too large to be filled")
    filler = directory / "filler"
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(bytes(1 << 20)):
            pass
    yield
    filler.unlink()


FAULTS: Final[dict[str, tuple[Fault, str, str]]] = {
    "lock": (_locked, "WritesRefused", r"locks: pid \d+ .* makes \d+ wait: .*LOCK TABLE"),
    "disk-full": (_full, "WritesRefused", "space: 0 MiB|No space left|could not extend"),
    "postgres-frozen": (_postgres, "503", "the database cannot be reached"),
    "redis-frozen": (_redis, "RedisDown", "Redis cannot be reached"),
    "worker-frozen": (_process("deliver"), "ProcessMissing", "ERROR +ProcessMissing: No worker"),
    "relay-frozen": (_process("relay"), "NothingKnown", "NothingKnown: No relay"),
    "background-frozen": (_process("background"), "ProcessMissing", "nobody does them|No background process"),
    "receivers-refuse": (_refused, "NothingDelivered", "NothingDelivered"),
    "receivers-away": (_unreached, "NothingDelivered", "NothingDelivered"),
    "event-unrelayed": (_unrelayed, "DeliverySetAside", "DeliverySetAside"),
    "migration-missing": (_unmigrated, "MigrationsMissing", "migrations: .*(missing|not applied)|MigrationsMissing"),
}
"""With what the page has to say, and what `doctor` has to: an expression."""
