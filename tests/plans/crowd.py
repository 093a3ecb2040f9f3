"""A workspace of very many leads, in a database of its own so that no other test has to empty it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import NamedTuple

from leadwire.delivery.envelope import EventKind
from leadwire.delivery.outbox import Event
from leadwire.domain.accounts import changes as accounts
from leadwire.domain.bots import changes as bots
from leadwire.infrastructure import clock, db
from leadwire.infrastructure.db import DB
from leadwire.infrastructure.db.migrations import migrate
from tests.plans.explained import vacuum

# Whatever its size, the crowd comes from January 1st to August 20th, 2026.
LAST_DAY, FIRST_DAY = datetime(2026, 8, 20, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)
_SECONDS = 20_000_000
_EVENTS = 20_000

# One row in a hundred is of the rare bot, the others are of ten busy ones. One lead in ten thousand has the score 100,
# nobody has 97 to 99; one conversation in a thousand waits for a person.
_BOT = "CASE WHEN n % 100 = 0 THEN $2 ELSE ($3::text[])[1 + n % 10] END"
_MADE = f"LATERAL (SELECT timestamptz '2026-01-01Z' + n * (interval '{_SECONDS} s' / $4::int)) moment (made)"
_LEADS = f"""
INSERT INTO lead (id, workspace_id, bot_id, conversation_id, email, score, custom_fields, created_at, updated_at)
SELECT 'lead_' || lpad(n::text, 26, '0'), $1, {_BOT}, 'conv_' || lpad(n::text, 26, '0'), n || '@example.com',
    CASE WHEN n % 9999 = 0 THEN 100 ELSE n % 97 END, '{{}}', made, made
FROM generate_series(1, $4) n, {_MADE}"""
_CONVERSATIONS = f"""
INSERT INTO conversation (id, workspace_id, bot_id, status, variables, created_at, updated_at, ended_at)
SELECT 'conv_' || lpad(n::text, 26, '0'), $1, {_BOT},
    CASE WHEN n % 999 = 0 THEN 'handoff' WHEN n % 19 = 0 THEN 'active' ELSE 'ended' END, '{{}}', made, made,
    CASE WHEN n % 999 > 0 AND n % 19 > 0 THEN made END
FROM generate_series(1, $4) n, {_MADE}"""
_BY_UPDATE = "INSERT INTO lead_by_update SELECT workspace_id, updated_at, id, bot_id, score FROM lead"
_INDEXES = """
SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS definition FROM pg_index
WHERE indrelid IN ('lead'::regclass, 'conversation'::regclass) AND NOT indisprimary"""
_MORE_EVENTS = f"""
INSERT INTO event (id, workspace_id, kind, body, occurred_at)
SELECT overlay(id PLACING lpad(n::text, 6, '0') FROM 25), workspace_id, kind, body, occurred_at
FROM (SELECT * FROM event WHERE id = $1) one, generate_series(1, {_EVENTS}) n
ON CONFLICT DO NOTHING -- its own id may end with one of these numbers"""


class Crowd(NamedTuple):
    """The workspace, its bot with one row in a hundred, and how many rows there are."""

    workspace: str
    rare_bot: str
    leads: int
    conversations: int


@asynccontextmanager
async def crowd(database_url: str, leads: int) -> AsyncIterator[Crowd]:
    """So many leads, and a tenth as many conversations, on connections with the API's settings."""
    await db.rows("CREATE DATABASE crowd")
    usual, DB.pool, DB.connections = (DB.config, DB.pool, DB.connections), None, None
    try:
        await db.open_pool(database_url.replace("/leadwire?", "/crowd?"), 2, role="engine")
        DB.role = "maintenance"  # however long it takes to make them
        await migrate()
        yield await _gather(leads, leads // 10)
    finally:
        await db.close_pool()
        DB.config, DB.pool, DB.connections = usual
        await db.rows("DROP DATABASE crowd")


async def busy_day(workspace: str, kind: EventKind) -> None:
    """Tens of thousands of events of a kind, in today's partition of the outbox."""
    async with db.transaction():
        event_id = await Event(workspace=workspace, kind=kind, at=clock.now(), data={}, lead_id="lead_x").record()
    await db.rows(_MORE_EVENTS, event_id)


async def _gather(leads: int, conversations: int) -> Crowd:
    workspace = await accounts.create_workspace("Crowd")
    rare, *busy = [await bots.create(workspace, f"Bot {n}") for n in range(11)]
    async with db.transaction():
        await db.rows("SET LOCAL session_replication_role = replica")  # no look at every foreign key
        await db.rows("SET LOCAL maintenance_work_mem = '256MB'")
        indexes = await db.rows(_INDEXES)
        for index in indexes:
            await db.rows(f"DROP INDEX {index['name']}")
        await db.rows(_LEADS, workspace, rare, busy, leads)
        await db.rows(_BY_UPDATE)  # for the triggers do not
        await db.rows(_CONVERSATIONS, workspace, rare, busy, conversations)
        for index in indexes:
            await db.rows(index["definition"])
    await vacuum("lead", "lead_by_update", "conversation")
    return Crowd(workspace, rare, leads, conversations)
