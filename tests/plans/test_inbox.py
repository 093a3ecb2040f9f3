"""The inbox among very many open conversations: what its lists read is bounded."""

from functools import partial

import pytest

from leadwire.domain.conversations import inbox_reads, jobs
from leadwire.domain.conversations.inbox_reads import Wanted
from leadwire.infrastructure import db, ids
from tests.plans import crowd as crowds
from tests.plans.explained import explained, vacuum

_OPEN = """
INSERT INTO conversation (id, workspace_id, bot_id, status, variables, handoff_requested_at, assigned_to, tags,
    snoozed_until, created_at, updated_at)
SELECT 'conv_open' || lpad(n::text, 22, '0'), $1, $2, CASE WHEN n % 4 = 3 THEN 'active' ELSE 'handoff' END, '{}', made,
    CASE n % 4 WHEN 1 THEN $3 WHEN 2 THEN $4 END, CASE WHEN n % 500 = 0 THEN '{vip}'::text[] ELSE '{}' END,
    CASE WHEN n % 40 = 1 THEN made + interval '60 days' END, made, made
FROM generate_series(1, 20000) n, LATERAL (SELECT now() - n * interval '1 second' AS made) moment"""
_SAID = """
INSERT INTO message (id, workspace_id, conversation_id, seq, role, content, created_at)
SELECT 'msg_' || c.id || n, c.workspace_id, c.id, n, 'user', 'Hello', now()
FROM conversation c, generate_series(1, 3) n WHERE c.id LIKE 'conv_open%'"""
_USER = "INSERT INTO user_account (id, workspace_id, email, role, created_at) VALUES ($1, $2, $1, 'agent', now())"


@pytest.fixture(scope="module")
async def agents(servers, connected):
    """The workspace, two agents with 5,000 conversations each, and a bot that has few."""
    async with crowds.crowd(servers.database_url, 2_000) as crowd:
        users = [ids.new("user") for _ in range(2)]
        for user in users:
            await db.rows(_USER, user, crowd.workspace)
        busy = await db.value("SELECT id FROM bot WHERE id <> $1 LIMIT 1", crowd.rare_bot)
        await db.rows(_OPEN, crowd.workspace, busy, *users)
        await db.rows(_SAID)
        await vacuum("conversation", "message", "user_account")
        yield crowd, users[0]


LISTS = [
    Wanted(place="waiting"), Wanted(place="waiting", tag="vip"), Wanted(place="mine"),
    Wanted(place="mine", longest=True), Wanted(place="theirs"), Wanted(place="bot"), Wanted(place="snoozed"),
]  # fmt: skip


@pytest.mark.parametrize("wanted", LISTS, ids=str)
async def test_what_the_lists_read_does_not_grow(agents, wanted):
    crowd, user = agents
    shown = await inbox_reads.threads(crowd.workspace, user, wanted)
    assert sum(map(len, shown.places.values())) >= 10
    nodes = await explained(partial(inbox_reads.threads, crowd.workspace, user, wanted))
    scans = [node for node in nodes if node.get("Relation Name") in ("conversation", "message", "lead")]
    assert {node["Relation Name"] for node in scans if node["Node Type"] == "Seq Scan"} == set()
    read = sum((node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"] for node in scans)
    assert read <= 4_000, read  # of 22,000 conversations and 60,000 messages; of a list 1,200 are counted


async def test_what_is_due_is_found_by_itself(agents):
    nodes = await explained(jobs.without_job)
    scans = [node for node in nodes if node.get("Relation Name") == "conversation"]
    assert {node["Node Type"] for node in scans} <= {"Index Scan", "Index Only Scan"}
    assert sum(node["Actual Rows"] + node.get("Rows Removed by Filter", 0) for node in scans) == 0
