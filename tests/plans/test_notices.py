"""What people are told of is found without reading what is well."""

import pytest

from leadwire.domain.notices import reads
from leadwire.infrastructure import db
from tests.plans.explained import nodes, plans_of

MANY = 3_000
ENDPOINTS = """
INSERT INTO webhook_endpoint (id, workspace_id, url, events, enabled, secret, failing_since, failures, created_at,
    updated_at)
SELECT 'we_' || n, $1, 'https://shop.example/', '{lead.created}', true, '',
    CASE WHEN n = 1 THEN now() - interval '1 hour' END, CASE WHEN n = 1 THEN 9 ELSE 0 END, now(), now()
FROM generate_series(1, $2::int) n"""
CONVERSATIONS = """
INSERT INTO conversation (id, workspace_id, bot_id, status, variables, handoff_requested_at, created_at, updated_at)
SELECT 'conv_' || n, $1, $3, CASE WHEN n = 1 THEN 'handoff' ELSE 'active' END, '{}', now() - interval '1 hour', now(),
    now()
FROM generate_series(1, $2::int) n"""


@pytest.mark.parametrize("kind", ["endpoints", "waiting"])
async def test_one_in_trouble_among_many_is_found_by_reading_one(workspace, bot, kind):
    await db.rows(ENDPOINTS, workspace, MANY)
    await db.rows(CONVERSATIONS, workspace, MANY, bot)
    for table in ("webhook_endpoint", "conversation"):
        await db.rows(f"ANALYZE {table}")
    found = []

    async def look():
        found.extend([row["id"] for row in await reads._WORKSPACES[kind].rows(pause=reads.OFFERS[kind].pause)])

    (plan,) = await plans_of(look)
    read = [
        node["Actual Loops"] * (node["Actual Rows"] + node.get("Rows Removed by Filter", 0))
        for node in nodes(plan)
        if node.get("Relation Name") in ("webhook_endpoint", "conversation")
    ]
    assert found == [workspace]
    assert 1 <= sum(read) <= 3, read
