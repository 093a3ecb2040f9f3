"""What the relay reads does not grow with what waits: told by the rows and pages that PostgreSQL touched, never by a
stopwatch. Pages count where an index is searched again and again, rows where many lie in few pages.
"""

import contextlib
import json
from typing import Any, NamedTuple

import pytest

from leadwire.delivery.relay import fan_out
from leadwire.delivery.relay.admit import admit
from leadwire.infrastructure import db
from tests.plans.explained import nodes

_ENDPOINTS = """
INSERT INTO webhook_endpoint (id, workspace_id, url, events, enabled, secret, created_at, updated_at)
SELECT $2 || lpad(n::text, 6, '0'), $1, 'http://127.0.0.1:8080/', '{lead.created}', true, '', now(), now()
FROM generate_series(1, $3::int) n"""
# Event n is of today or yesterday; with $4 = 1 each has an endpoint of its own, else all have the same.
_DELIVERIES = """
INSERT INTO delivery (event_id, endpoint_id, workspace_id, state, attempts, due_at, last_outcome)
SELECT left(event_id_floor(now()::date - n % 2), 14) || lpad(n::text, 16, '0'),
    $2 || lpad((CASE WHEN $4 THEN n ELSE 1 END)::text, 6, '0'), $1, $5, 0,
    now() + $6::int * interval '1 s' + n * interval '1 ms', 'http_5xx'
FROM generate_series(1, $3::int) n"""
_EVENTS = """
INSERT INTO outbox_event (id, workspace_id, kind, body, occurred_at)
SELECT left(event_id_floor(now()::date), 14) || lpad(n::text, 16, '0'), $1, 'lead.created', '{}', now()
FROM generate_series(1, $2::int) n"""

EACH, ONE = True, False
LATER, LONG_DUE = 3600, -3600  # seconds


async def deliveries(workspace: str, prefix: str, count: int, whose: bool, due: int, state: str = "waiting") -> None:
    await db.rows(_ENDPOINTS, workspace, prefix, count if whose is EACH else 1)
    await db.rows(_DELIVERIES, workspace, prefix, count, whose, state, due)


class Touched(NamedTuple):
    """Pages of everything, and rows of deliveries."""

    pages: int
    rows: int


async def analyze() -> None:
    await db.rows("ANALYZE delivery, webhook_endpoint, outbox_event")


async def touched(work: Any, monkeypatch: pytest.MonkeyPatch, like: str, *, fresh: bool = True) -> Touched:
    """By the statement of `work` that has `like` in its text, which is run for that instead of by `work`.

    With statistics that are `fresh`, or as they are.
    """
    if fresh:
        await analyze()
    fetch, sent = db.DB.fetch, []

    async def noted(sql: str, args: Any) -> list[db.Row]:
        if like in sql:
            sent.append((sql, args))
            raise InterruptedError
        return await fetch(sql, args)

    with monkeypatch.context() as patched, contextlib.suppress(InterruptedError):
        patched.setattr(db.DB, "fetch", noted)
        await work()
    ((sql, args),) = sent
    plan = json.loads(bytes(await db.value(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql}", *args)))[0]["Plan"]
    return Touched(
        plan["Shared Hit Blocks"] + plan["Shared Read Blocks"],
        round(
            sum(
                (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]
                for node in nodes(plan)
                if "Scan" in node["Node Type"] and node.get("Relation Name", "").startswith("delivery")
            )
        ),
    )


async def queued() -> dict[str, int]:
    found = await db.rows(
        "SELECT left(endpoint_id, 4) AS who, count(*) FROM delivery WHERE state = 'queued' GROUP BY 1"
    )
    return {row["who"]: row["count"] for row in found}


async def test_endpoints_that_only_wait_for_retries_cost_next_to_nothing(workspace, monkeypatch):
    await deliveries(workspace, "we_a", 3000, EACH, LATER)
    assert (await touched(admit, monkeypatch, "UPDATE delivery")).pages < 10_000  # it was 96,000


async def test_a_backlog_that_is_due_costs_no_more_than_what_is_queued_of_it(workspace, monkeypatch):
    await deliveries(workspace, "we_a", 20_000, ONE, LONG_DUE)
    assert (await touched(admit, monkeypatch, "UPDATE delivery")).rows < 1000
    assert await queued() == {"we_a": 64}


async def test_both_together(workspace, monkeypatch):
    """And those that are due are all found, however many wait between them."""
    await deliveries(workspace, "we_a", 300, EACH, LONG_DUE)
    await deliveries(workspace, "we_b", 3000, EACH, LATER)
    await db.rows("DELETE FROM delivery WHERE endpoint_id LIKE 'we_b%' AND right(endpoint_id, 1) = '7'")
    await deliveries(workspace, "we_c", 5000, ONE, LONG_DUE)
    await db.rows("UPDATE delivery SET due_at = now() WHERE endpoint_id LIKE 'we_b%' AND right(endpoint_id, 2) = '13'")
    await db.rows("DELETE FROM delivery WHERE endpoint_id = 'we_c000001' AND due_at > now()")
    await deliveries(workspace, "we_d", 100, EACH, LONG_DUE)
    found = await touched(admit, monkeypatch, "UPDATE delivery")
    assert await queued() == {"we_a": 300, "we_b": 30, "we_c": 64, "we_d": 100}
    assert found.pages < 60_000  # it was 180,000


async def test_a_fan_out_does_not_rest_on_statistics(workspace, monkeypatch):
    """They know of one endpoint with all the deliveries, when a hundred others have come."""
    await deliveries(workspace, "we_a", 5000, ONE, LONG_DUE)
    await analyze()
    await db.rows(_ENDPOINTS, workspace, "we_b", 100)
    await db.rows(_EVENTS, workspace, 3)
    found = await touched(fan_out.fan_out, monkeypatch, "INSERT INTO delivery", fresh=False)
    assert await queued() == {"we_b": 300}
    assert found.rows < 1000


@pytest.mark.parametrize("endpoints", [100, 3000])
async def test_a_batch_is_bounded_in_deliveries_too(workspace, endpoints):
    await db.rows(_ENDPOINTS, workspace, "we_a", endpoints)
    await db.rows(_EVENTS, workspace, 60 if endpoints < 1000 else 3)
    made = []
    while (await fan_out.fan_out()).events:
        made.append(await db.value("SELECT count(*) FROM delivery") - sum(made))
    assert sum(made) == (60 if endpoints < 1000 else 3) * endpoints
    assert max(made) == max(endpoints, fan_out.DELIVERIES)
