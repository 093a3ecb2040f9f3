"""A database of ours at size: N leads, N/2 conversations, 5N messages, one workspace, one key."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from leadwire.domain.accounts.changes import create_key, create_workspace
from leadwire.infrastructure import db
from leadwire.infrastructure.db.migrations import migrate

BOTS = 10
MESSAGES = 10  # in each conversation
ASKED_FOR = 5000  # different leads, and conversations, at the most

# 26 digits: 10 that grow with the number, as time would make them, and 16 as good as random. Hex digits are valid ones.
_ID = "'{}_01' || lpad(to_hex({}), 8, '0') || left(md5('{}' || {}), 16)"


def id_of(prefix: str, number: str = "i") -> str:
    """SQL for the id of one of ours, by its number."""
    return _ID.format(prefix, number, prefix, number)


_BOTS = f"""
INSERT INTO bot (id, workspace_id, name, created_at)
SELECT {id_of("bot")}, $1, 'Bot ' || i, now() FROM generate_series(0, {BOTS - 1}) i"""

_LEADS = f"""
INSERT INTO lead (id, workspace_id, bot_id, conversation_id, email, name, phone, company, score,
    source_url, source_campaign, source_referrer, custom_fields, created_at, updated_at)
SELECT {id_of("lead")}, $1, {id_of("bot", f"i % {BOTS}")}, {id_of("conv", "1 + (i - 1) % ($2::int / 2)")},
    'person' || i || '@company' || i % 5000 || '.example', 'Person Name ' || i, '+1555' || lpad(i::text, 7, '0'),
    'Company ' || i % 5000, i * 37 % 101,
    'https://shop.example/pricing?plan=' || i % 7, 'spring-' || i % 20, 'https://www.search.example/',
    ('{{"budget":"' || i % 100 || 'k","team_size":' || i % 50 || ',"status":"qualified"}}')::json, at, at
FROM (SELECT i, $3::timestamptz + i * $4::interval + i::bigint * 7919 % 60000 * interval '1 ms' AS at
      FROM generate_series(1, $2::int) i) s"""

_CONVERSATIONS = f"""
INSERT INTO conversation (id, workspace_id, bot_id, lead_id, status, visitor_email, visitor_name, messages_count,
    source_url, source_campaign, source_referrer, locale, timezone, browser, os, flow_version, variables,
    ended_at, ended_by, end_reason, created_at, updated_at)
SELECT {id_of("conv")}, $1, {id_of("bot", f"i % {BOTS}")}, {id_of("lead")},
    (ARRAY['active', 'ended', 'handoff'])[1 + i % 3], 'person' || i || '@company' || i % 5000 || '.example',
    'Person Name ' || i, $5::int, 'https://shop.example/pricing', 'spring-' || i % 20,
    'https://www.search.example/', 'en', 'Europe/Vienna', 'Firefox', 'Linux', 3, '{{"topic":"pricing","step":4}}',
    CASE WHEN i % 3 = 1 THEN at + interval '10 min' END, CASE WHEN i % 3 = 1 THEN 'visitor' END,
    CASE WHEN i % 3 = 1 THEN 'closed' END, at, at + interval '10 min'
FROM (SELECT i, $3::timestamptz + i * 2 * $4::interval + i::bigint * 7907 % 60000 * interval '1 ms' AS at
      FROM generate_series(1, $2::int / 2) i) s"""

_MESSAGES = f"""
INSERT INTO message (id, workspace_id, conversation_id, seq, role, content, created_at)
SELECT {id_of("msg", "i * $5::int + n")}, $1, {id_of("conv")}, n, CASE WHEN n % 2 = 0 THEN 'user' ELSE 'bot' END,
    'Message ' || n || ': Thanks for reaching out! Could you tell me more about what you need, '
        || 'e.g. "team size" and budget?',
    $3::timestamptz + i * 2 * $4::interval + n * interval '20.25 s'
FROM generate_series(1, $2::int / 2) i, generate_series(1, $5::int) n"""

_SAMPLE = "SELECT id FROM {} ORDER BY md5(id) LIMIT {}"


class Data(NamedTuple):
    """What a client needs to ask for things."""

    key: str
    workspace: str
    leads: list[str]
    conversations: list[str]
    counts: tuple[int, int, int]
    postgres: str


def make(url: str, leads: int) -> Data:
    """Make the tables and fill them."""
    return asyncio.run(_make(url, leads))


async def _make(url: str, leads: int) -> Data:
    await db.open_pool(url, 2)
    try:
        await migrate()
        return await fill(leads)
    finally:
        await db.close_pool()


async def fill(
    leads: int,
    messages: int = MESSAGES,
    first: datetime = datetime(2026, 1, 1, tzinfo=UTC),
    apart: timedelta = timedelta(minutes=4),
) -> Data:
    """Fill tables that are there, over the open pool: `messages` in each conversation, a lead each `apart`."""
    workspace = await create_workspace("Benchmark")
    _, key = await create_key(workspace, "benchmark")
    await fill_workspace(workspace, leads, messages, first, apart)
    tables = ("lead", "conversation", "message")
    return Data(
        key,
        workspace,
        [row[0] for row in await db.rows(_SAMPLE.format("lead", ASKED_FOR))],
        [row[0] for row in await db.rows(_SAMPLE.format("conversation", ASKED_FOR))],
        tuple([await db.value(f"SELECT count(*) FROM {table}") for table in tables]),  # type: ignore[arg-type]
        await db.value("SHOW server_version"),
    )


async def fill_workspace(
    workspace: str,
    leads: int,
    messages: int = MESSAGES,
    first: datetime = datetime(2026, 1, 1, tzinfo=UTC),
    apart: timedelta = timedelta(minutes=4),
) -> None:
    """The same in a workspace that is there, also in the tables of an earlier version."""
    await db.rows(_BOTS, workspace)
    await db.rows(_LEADS, workspace, leads, first, apart)
    for statement in (_CONVERSATIONS, _MESSAGES):
        await db.rows(statement, workspace, leads, first, apart, messages)
    # Not all tables: an empty one that was analyzed is planned for as empty, until there are statistics again.
    await db.rows("VACUUM (ANALYZE) bot, lead, conversation, message")
    await db.rows("CHECKPOINT")


def outbox(url: str) -> list[tuple[list[Any], Any]]:
    """Every event, oldest first: its columns but for id and times, and its body without its time."""
    return asyncio.run(_outbox(url))


async def _outbox(url: str) -> list[tuple[list[Any], Any]]:
    await db.open_pool(url, 2)
    try:
        found = await db.rows(
            """SELECT workspace_id, kind, conversation_id, lead_id, subject, test_endpoint_id, length(id),
               length(traceparent), body FROM event ORDER BY recorded_at"""
        )
    finally:
        await db.close_pool()
    return [(columns, {**json.loads(body), "timestamp": ""}) for *columns, body in found]
