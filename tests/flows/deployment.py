"""Relay and worker as processes of their own, on a database and a Redis that others run."""

import asyncio
from collections import Counter

import asyncpg
from redis.asyncio import Redis

from leadwire.infrastructure import ids
from tests.flows.commands import Started, run
from tests.receiver import Receiver
from tests.waiting import eventually

_EVENTS = """
WITH made AS (
    INSERT INTO event (id, workspace_id, kind, body, occurred_at)
    SELECT id, $1, 'lead.created',
           '{"event":"lead.created","timestamp":"2026-01-01T00:00:00.000Z","data":{"of":"' || id || '"}}', now()
    FROM unnest($2::text[]) id RETURNING *
)"""
_LEFT_TO_RELAY = f"""{_EVENTS} INSERT INTO outbox (event_id, workspace_id, kind, position, recorded_at)
SELECT id, workspace_id, kind, position, recorded_at FROM made"""
_QUEUED = f"""{_EVENTS} INSERT INTO delivery (event_id, endpoint_id, workspace_id, state, due_at, queued_at)
SELECT made.id, e.id, made.workspace_id, 'queued', now(), now() FROM made JOIN webhook_endpoint e USING (workspace_id)
"""
_LEAD = """
WITH bot AS (
    INSERT INTO bot (id, workspace_id, name, created_at) SELECT $1, id, 'Bot', now() FROM workspace
    RETURNING id, workspace_id
)
INSERT INTO lead (id, workspace_id, bot_id, conversation_id, email, custom_fields, created_at, updated_at)
SELECT $2, workspace_id, id, $3, 'ada@example.com', '{}', now(), now() FROM bot"""
AGED = """
UPDATE delivery SET queued_at = now() - interval '1 minute'
WHERE state = 'queued' AND queued_at > now() - interval '40 s'"""


class Deployment:
    """A database and a Redis of its own, a receiver, and the processes started so far."""

    def __init__(self, settings: dict[str, str], sql: asyncpg.Connection, redis: Redis, receiver: Receiver) -> None:
        self.settings = settings
        self.sql = sql
        self.redis = redis
        self.receiver = receiver
        self.started: list[Started] = []

    async def start(self, *arguments: str) -> Started:
        process = Started(*arguments, **self.settings)
        self.started.append(process)
        await process.up()
        return process

    async def state(self, state: str) -> int:
        return int(await self.sql.fetchval("SELECT count(*) FROM every_delivery WHERE state = $1", state))

    async def all_delivered(self, count: int, seconds: float = 240) -> None:
        """Every event arrived and is written down as delivered; what came twice came under one id."""

        async def done() -> bool:
            return await self.state("delivered") == count

        await eventually(done, seconds)
        arrived = Counter(one.webhook_id for one in self.receiver.deliveries)
        assert set(arrived) == {row["id"] for row in await self.sql.fetch("SELECT id FROM event")}
        bodies = {(one.webhook_id, one.body) for one in self.receiver.deliveries}
        assert len(bodies) == len(arrived) == count
        ledger = await asyncio.to_thread(run, "ledger", "--json", **self.settings)
        assert ledger.returncode == 0, ledger.stdout

    async def write(self, count: int, *, queued: bool = False) -> None:
        """Events as a change leaves them, committed: to the relay, or queued and in no stream yet."""
        workspace = await self.sql.fetchval("SELECT id FROM workspace")
        await self.sql.execute(_QUEUED if queued else _LEFT_TO_RELAY, workspace, [ids.new("evt") for _ in range(count)])

    async def lead(self) -> str:
        """The path of a new lead."""
        lead = ids.new("lead")
        await self.sql.execute(_LEAD, ids.new("bot"), lead, ids.new("conv"))
        return f"/v1/leads/{lead}"
