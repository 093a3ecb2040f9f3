"""The data of the benchmarks: empty tables, workspaces with an endpoint each, committed events, server counters."""

import asyncio
import time
from collections.abc import Sequence
from typing import NamedTuple, Self

from redis.asyncio import Redis

from leadwire.delivery import envelope, wakeup
from leadwire.domain.accounts import changes as accounts
from leadwire.domain.webhooks import changes as webhooks
from leadwire.domain.webhooks.samples import SAMPLES
from leadwire.infrastructure import clock, db, ids, redis_pool

_BODY = envelope.encode("lead.created", clock.now(), SAMPLES["lead.created"] | {"custom_fields": {"note": "x" * 500}})
_COLUMNS = ["id", "workspace_id", "kind", "body", "occurred_at"]


def redis() -> Redis:
    """The connection."""
    client = redis_pool.client()
    assert client is not None
    return client


async def fresh() -> None:
    """Empty everything."""
    tables = "attempt, delivery, outbox_event, webhook_endpoint, message, conversation, lead, bot, api_key, workspace"
    await db.rows(f"TRUNCATE {tables} CASCADE")
    await redis().flushall()


async def workspaces(urls: Sequence[str]) -> list[str]:
    """A workspace with an endpoint for each URL."""
    made = [await accounts.create_workspace(f"bench {number}") for number in range(len(urls))]
    for workspace, url in zip(made, urls, strict=True):
        endpoint = await webhooks.create(workspace, url, ["lead.created"])
        await webhooks.enable(workspace, endpoint.id)
    return made


async def open_windows() -> None:
    """As after some hundred successes."""
    await db.rows("UPDATE webhook_endpoint SET admission_window = 256")


async def commit(owners: Sequence[str], count: int) -> list[str]:
    """So many events in one transaction, shared out evenly; answers their ids."""
    rows = [
        (ids.new("evt"), owners[number % len(owners)], "lead.created", _BODY, clock.now()) for number in range(count)
    ]
    async with db.DB.pool.acquire() as connection:
        await connection.copy_records_to_table("outbox_event", records=rows, columns=_COLUMNS)
    return [row[0] for row in rows]


async def steady(owners: Sequence[str], rate: float, seconds: float) -> dict[str, tuple[str, float]]:
    """Events at a steady rate, each owner in turn: its owner and the moment of its commit (CLOCK_MONOTONIC) by id."""
    committed: dict[str, tuple[str, float]] = {}
    start, done = time.monotonic(), 0
    while (passed := time.monotonic() - start) < seconds:
        if (due := int(passed * rate)) > done:
            these = [owners[number % len(owners)] for number in range(done, due)]
            made = await commit(these, len(these))
            moment = time.monotonic()
            wakeup.wake_relay()
            committed |= {event: (owner, moment) for event, owner in zip(made, these, strict=True)}
            done = due
        await asyncio.sleep(0.01)
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
