"""The data of the benchmarks: empty tables, workspaces with an endpoint each, committed events, server counters."""

import asyncio
import time
from collections.abc import Sequence
from typing import NamedTuple, Self

from redis.asyncio import Redis

from leadwire.delivery import envelope
from leadwire.delivery.outbox import Event
from leadwire.delivery.relay import admit
from leadwire.delivery.streams import push
from leadwire.domain.accounts import changes as accounts
from leadwire.domain.webhooks import changes as webhooks
from leadwire.domain.webhooks.samples import SAMPLES
from leadwire.infrastructure import clock, db, ids, redis_pool

_DATA = SAMPLES["lead.created"] | {"custom_fields": {"note": "x" * 500}}
_BODY = envelope.encode("lead.created", clock.now(), _DATA)
_TABLES = """attempt, delivery, delivery_result, discard, outbox, event, webhook_endpoint, message, conversation, lead,
    bot, api_key, workspace"""
_COLUMNS = ["id", "workspace_id", "kind", "body", "occurred_at"]
_OUTBOX = """INSERT INTO outbox (event_id, workspace_id, kind, position, recorded_at)
    SELECT id, workspace_id, kind, position, recorded_at FROM event WHERE id = ANY($1)"""


# So many deliveries of one event each to the endpoint of a workspace, due now.
_LET_WAIT = """
WITH made AS (
    INSERT INTO event (id, workspace_id, kind, body, occurred_at)
    SELECT left(event_id_floor(now()::date), 14) || lpad(n::text, 16, '0'), $1::text, 'lead.created', $3::text, now()
    FROM generate_series(1, $2::int) n RETURNING id
), delivery AS (
    INSERT INTO delivery (event_id, endpoint_id, workspace_id, state, due_at)
    SELECT made.id, e.id, e.workspace_id, 'waiting', now() FROM made, webhook_endpoint e WHERE e.workspace_id = $1
)
UPDATE webhook_endpoint SET open = false, due_at = now() WHERE workspace_id = $1"""


def redis() -> Redis:
    """The connection."""
    client = redis_pool.client()
    assert client is not None
    return client


async def fresh() -> None:
    """Empty everything."""
    await db.rows(f"TRUNCATE {_TABLES} CASCADE")
    await redis().flushall()


async def workspaces(urls: Sequence[str]) -> list[str]:
    """A workspace with an endpoint for each URL."""
    made = [await accounts.create_workspace(f"bench {number}") for number in range(len(urls))]
    for workspace, url in zip(made, urls, strict=True):
        endpoint = await webhooks.create(workspace, url, ["lead.created"])
        await webhooks.enable(workspace, endpoint.id)
    return made


async def open_endpoints() -> None:
    """As the relay leaves endpoints that nothing waits for: deliveries to them are queued at once."""
    while await db.value("SELECT EXISTS (SELECT 1 FROM webhook_endpoint WHERE enabled AND NOT open)"):
        await admit.admit()


async def commit(owners: Sequence[str], count: int) -> list[str]:
    """So many events in one transaction, shared out evenly and left to the relay; answers their ids."""
    rows = [
        (ids.new("evt"), owners[number % len(owners)], "lead.created", _BODY, clock.now()) for number in range(count)
    ]
    async with db.DB.pool.acquire() as connection, connection.transaction():
        await connection.copy_records_to_table("event", records=rows, columns=_COLUMNS)
        await connection.execute(_OUTBOX, made := [row[0] for row in rows])
    push.wake_relay()
    return made


async def let_wait(owner: str, count: int) -> None:
    """Let so many deliveries to a workspace's endpoint be due."""
    await db.rows(_LET_WAIT, owner, count, _BODY)
    await db.rows("ANALYZE delivery, event")


async def steady(owners: Sequence[str], rate: float, seconds: float) -> dict[str, tuple[str, float]]:
    """Events at a steady rate, each owner in turn: its owner and the moment of its commit (CLOCK_MONOTONIC) by id.

    Each is recorded as a change records it, which makes the deliveries and adds them to the streams where it can.
    """
    committed: dict[str, tuple[str, float]] = {}

    async def record(owner: str) -> None:
        async with db.transaction():
            event = await Event(workspace=owner, kind="lead.created", at=clock.now(), data=_DATA).record()
        committed[event] = owner, time.monotonic()

    start, done = time.monotonic(), 0
    recording: set[asyncio.Task[None]] = set()
    while (passed := time.monotonic() - start) < seconds:
        for number in range(done, due := int(passed * rate)):
            recording.add(task := asyncio.create_task(record(owners[number % len(owners)])))
            task.add_done_callback(recording.discard)
        done = due
        await asyncio.sleep(min(0.01, 1 / rate))
    await asyncio.gather(*recording)
    return committed


class Counts(NamedTuple):
    """What PostgreSQL and Redis count themselves."""

    transactions: int
    wal: int
    commands: int

    @classmethod
    async def now(cls) -> Self:
        """As they stand."""
        await db.rows("SELECT pg_stat_force_next_flush()")
        transactions = await db.value("SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()")
        wal = await db.value("SELECT (pg_current_wal_lsn() - '0/0')::bigint")
        told = await redis().info("stats")
        return cls(transactions, wal, told["total_commands_processed"])
