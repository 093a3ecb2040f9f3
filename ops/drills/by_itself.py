"""A customer's server is down for two hours, and comes back. Nobody does anything. The database's clock is moved."""

import asyncio
import time
from typing import Final

import asyncpg

from leadwire.infrastructure import db
from ops.chaos.records import Accepted
from ops.drills.sandbox import Sandbox
from ops.drills.servers import Servers

RUNBOOK = "src/leadwire/docs/replay.md"
ENDPOINTS = ("shop",)
SETTINGS: dict[str, str] = {}
_LIVE, _RATE = 600, 10.0  # new events, and how many a second
_PARTS, _EACH = 24, 25  # of two hours: parts, and events in each

# A `now()` before PostgreSQL's on the search path, as in the tests: so the schedule of retries is the real one.
_CLOCK: Final = """
CREATE SCHEMA moved_clock;
CREATE TABLE moved_clock.moved AS SELECT interval '0' AS by;
CREATE FUNCTION moved_clock.now() RETURNS timestamptz LANGUAGE sql STABLE AS
    'SELECT pg_catalog.now() + by FROM moved_clock.moved'"""
_FORWARD: Final = "UPDATE moved_clock.moved SET by = by + interval '2 hours' / $1::int"
_TO_SEND: Final = """SELECT count(*) FROM delivery WHERE state = 'queued' OR state = 'waiting' AND due_at <= now()"""


def database_url(servers: Servers) -> str:
    """With the clock, which has to be there when the first process connects."""
    asyncio.run(_install(servers))
    return f"postgresql://postgres@/leadwire?host={servers.run}&port=5432&search_path=public,moved_clock,pg_catalog"


async def _install(servers: Servers) -> None:
    connection: asyncpg.Connection = await servers.connect()
    await connection.execute(_CLOCK)
    await connection.close()


async def run(sandbox: Sandbox) -> None:
    """The endpoint sends what it has missed again by itself; new events beside it are no later than at other times."""
    await sandbox.command("endpoints", "configure", sandbox.workload.endpoints["shop"], "--auto-redrive")
    quiet = await sandbox.send_changes(300, _RATE)
    await sandbox.settled()
    before = sandbox.late(quiet, "shop")
    missed = await _down(sandbox)
    states = await sandbox.states()
    back = time.time()
    sandbox.receiver.answers["shop"] = 204
    sandbox.say(f"it is back. Of {len(missed)} events {states}")
    await _fewer_dead(sandbox, states["dead"] - 50)
    beside = await sandbox.send_changes(_LIVE, _RATE)
    await sandbox.settled(600)
    late = sandbox.late(beside, "shop")
    for name, ages in (("alone", before), ("beside what was missed", late)):
        sandbox.say(f"new events {name}: {_at(ages, 0.5) * 1000:.1f} ms (p50), {_at(ages, 0.95) * 1000:.1f} ms (p95)")
    arrived = max(sandbox.receiver.acknowledged("shop").values()) - back
    sandbox.claim(f"everything has arrived after {arrived:.0f} s, within 10 minutes", arrived < 600)
    sandbox.claim("new events are no later than twice (p95)", _at(late, 0.95) <= 2 * max(_at(before, 0.95), 0.01))
    sandbox.claim(f"none of {len(missed)} is missing", sandbox.missing(missed, "shop") == 0)
    sandbox.claim("nothing was sent twice that had arrived", sandbox.receiver.doubled() == 0)
    await sandbox.balanced()


async def _down(sandbox: Sandbox) -> list[Accepted]:
    """Two hours without the receiver. Return the changes that were made in them."""
    sandbox.receiver.answers["shop"] = 503
    sandbox.say("the endpoint answers 503 to everything")
    missed = []
    for _ in range(_PARTS):
        missed += await sandbox.send_changes(_EACH, 100)
        await db.rows(_FORWARD, _PARTS)
        async with asyncio.timeout(120):
            while await db.value(_TO_SEND):
                await asyncio.sleep(0.1)
    sandbox.say("two hours are over")
    return missed


async def _fewer_dead(sandbox: Sandbox, most: int) -> None:
    """Wait until there are no more dead letters than that."""
    async with asyncio.timeout(600):
        while (await sandbox.states()).get("dead", 0) > most:
            await asyncio.sleep(0.1)


def _at(ages: list[float], share: float) -> float:
    return ages[int(len(ages) * share)]
