"""Bad members: a row, an entry or a workspace of one customer that cannot be worked on. Nobody else may stand still.

Such a fault lasts until each endpoint of the others has got some of what was changed since its start. That is progress,
however slow the machine is; where none has come after four minutes, they stand still.
"""

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Final

import asyncpg

from leadwire.delivery import streams
from leadwire.delivery.streams import Key
from leadwire.infrastructure import db, ids, settings
from ops.chaos.cluster import Cluster
from ops.chaos.plan import Hit, Planned

_ROUNDS: Final = 3  # deliveries of each endpoint beside
_STANDSTILL: Final = 240.0  # seconds
_LOOK: Final = 0.25
_HELD: Final = 6.0  # seconds: longer than a statement of the API may take
_SNAPSHOT: Final = 3.0  # leases
_FAR: Final = "evt_7zzzzzzzzzzzzzzzzzzzzzzzzz"
_LATER: Final = (*db.GONE, db.Locked, asyncpg.UndefinedTableError)

RAISED: Final = "chaos: not for this workspace"
"""What PostgreSQL says amid such a fault of one customer."""
_RAISE: Final = f"""
CREATE OR REPLACE FUNCTION chaos_raise() RETURNS trigger LANGUAGE plpgsql AS
'BEGIN RAISE EXCEPTION ''{RAISED}''; END'"""
_TRIGGER: Final = """
CREATE TRIGGER chaos_{name} BEFORE {event} ON {table} FOR EACH ROW WHEN ({row}.workspace_id = '{workspace}')
EXECUTE FUNCTION chaos_raise()"""

_Work = Callable[[Cluster, Planned, float], Awaitable[Hit]]


async def hold_snapshot(cluster: Cluster, _: Planned, lease: float) -> Hit:
    """A transaction that reads as of one moment stays open, as a report or a dump does: dead rows stay."""
    connection = await _connected()
    start = time.time()
    try:
        with contextlib.suppress(*db.GONE, asyncpg.PostgresError):
            async with connection.transaction(isolation="repeatable_read"):
                await connection.execute("SELECT count(*) FROM webhook_endpoint")
                await asyncio.sleep(_SNAPSHOT * lease)
    finally:
        connection.terminate()
    return Hit(cluster.postgres.name, start)


async def hold_endpoint(cluster: Cluster, planned: Planned, _: float) -> Hit:
    """Somebody has locked one endpoint's row, for longer than a statement may take."""
    names = [name for name in cluster.victim.endpoints if not name.startswith("changing")]
    name = names[int(planned.draw * len(names))]
    start, size = time.time(), cluster.journal.size()
    connection = await _connected()
    try:
        with contextlib.suppress(*db.GONE, asyncpg.PostgresError):
            async with connection.transaction():
                row = cluster.victim.endpoints[name]
                await connection.execute("SELECT 1 FROM webhook_endpoint WHERE id = $1 FOR UPDATE", row)
                stopped = await _until_others_go_on(cluster, start, size)
                await asyncio.sleep(max(0.0, start + _HELD - time.time()))
                return Hit(name, start, stopped)
    finally:
        connection.terminate()
    return Hit(name, start)  # the server went down


async def bad_entry(cluster: Cluster, _: Planned, __: float) -> Hit:
    """Entries that no process of ours adds: of a day that no table is for, and such as cannot be read."""
    shards = settings.get().stream_shards
    fields = [{b"e": b"\xff\xfe", b"w": b"", b"n": b"-1"}, {b"x": b"1"}, {b"e": _FAR, b"w": "we_1", b"n": "70000"}]
    async with cluster.servers_busy[cluster.valkey.name]:
        start, size = time.time(), cluster.journal.size()
        await streams.add(cluster.redis, [Key(_FAR, row, 0) for row in cluster.victim.endpoints.values()], shards)
        for name in streams.names(shards):
            for one in fields:
                await cluster.redis.xadd(name, one)  # type: ignore[arg-type]
    return Hit("streams", start, await _until_others_go_on(cluster, start, size))


async def raise_fan_out(cluster: Cluster, _: Planned, __: float) -> Hit:
    """No event of one workspace can be relayed."""
    return await _raising(cluster, "fan_out", "DELETE", "outbox")


async def raise_claim(cluster: Cluster, _: Planned, __: float) -> Hit:
    """No delivery of one workspace can be claimed, nor its failure recorded."""
    return await _raising(cluster, "claim", "UPDATE", "delivery")


async def raise_record(cluster: Cluster, _: Planned, __: float) -> Hit:
    """No end of a delivery of one workspace can be recorded."""
    return await _raising(cluster, "record", "INSERT", "delivery_result")


FAULTS: Final[tuple[_Work, ...]] = (hold_endpoint, bad_entry, raise_fan_out, raise_claim, raise_record)
KINDS: Final = {work.__name__.replace("_", "-") for work in FAULTS}
"""Faults of one customer: they excuse nothing that happens to another."""


async def _raising(cluster: Cluster, name: str, event: str, table: str) -> Hit:
    start, size = time.time(), cluster.journal.size()
    row = "NEW" if event == "INSERT" else "OLD"
    workspace = cluster.victim.workspace
    await _defined(_RAISE)
    await _defined(_TRIGGER.format(name=name, event=event, table=table, row=row, workspace=workspace))
    try:
        stopped = await _until_others_go_on(cluster, start, size)
    finally:
        await _defined(f"DROP TRIGGER IF EXISTS chaos_{name} ON {table}")
    return Hit(table, start, stopped)


async def _defined(statement: str) -> None:
    """Run a statement that locks a table, as often as it takes: nobody else waits long behind it."""
    while True:
        with contextlib.suppress(*_LATER, asyncpg.PostgresError):
            connection = await _connected()
            try:
                async with connection.transaction():
                    await connection.execute("SET LOCAL lock_timeout = '500ms'")
                    with contextlib.suppress(asyncpg.DuplicateObjectError):  # our commit was not answered
                        await connection.execute(statement)
                return
            finally:
                connection.terminate()
        await asyncio.sleep(_LOOK)


async def _connected() -> asyncpg.Connection:  # type: ignore[type-arg]
    """Connect as soon as the server answers."""
    while True:
        try:
            return await asyncpg.connect(settings.get().database_url)
        except (*db.GONE, asyncpg.PostgresError):
            await asyncio.sleep(_LOOK)


async def _until_others_go_on(cluster: Cluster, start: float, size: int) -> tuple[str, ...]:
    """Wait until every endpoint beside has got what was changed since `start`; return those that did not in time."""
    end = time.monotonic() + _STANDSTILL
    while True:
        posts = cluster.journal.posts(size)
        got = Counter(post.endpoint for post in posts if post.good and ids.moment(post.event_id).timestamp() > start)
        waiting = tuple(name for name in cluster.beside if got[name] < _ROUNDS)
        if not waiting or time.monotonic() > end:
            return waiting
        await asyncio.sleep(_LOOK)
