"""What the relay reads does not grow with what waits: told by the rows and pages that PostgreSQL touched, never by a
stopwatch. Pages count where an index is searched again and again, rows where many lie in few pages.
"""

from functools import partial
from typing import Any, NamedTuple

import pytest

from leadwire.delivery.endpoints import discard, due
from leadwire.delivery.monitoring import gauges
from leadwire.delivery.relay import fan_out, reconcile
from leadwire.delivery.relay.admit import admit, close_overfull
from leadwire.infrastructure import db
from tests.plans.explained import nodes, pages, plans_of, vacuum

_ENDPOINTS = """
INSERT INTO webhook_endpoint (id, workspace_id, url, events, enabled, open, secret, created_at, updated_at)
SELECT $2 || lpad(n::text, 6, '0'), $1, 'http://127.0.0.1:8080/', '{lead.created}', true, $4, '', now(), now()
FROM generate_series(1, $3::int) n"""
# Event n is of today or yesterday; with $4 = 1 each has an endpoint of its own, else all have the same.
_DELIVERIES = """
INSERT INTO delivery (event_id, endpoint_id, workspace_id, state, attempts, due_at, last_outcome)
SELECT left(event_id_floor(now()::date - n % 2), 14) || lpad(n::text, 16, '0'),
    $2 || lpad((CASE WHEN $4 THEN n ELSE 1 END)::text, 6, '0'), $1, 'waiting', 0,
    now() + $5::int * interval '1 s' + n * interval '1 ms', 'http_5xx'
FROM generate_series(1, $3::int) n"""
# As whoever lets a delivery wait leaves its endpoint.
_WAKE = """
UPDATE webhook_endpoint e SET due_at = waiting.due_at
FROM (SELECT endpoint_id, min(due_at) AS due_at FROM delivery GROUP BY endpoint_id) waiting
WHERE e.id = waiting.endpoint_id"""
_EVENTS = """
WITH made AS (
    INSERT INTO event (id, workspace_id, kind, body, occurred_at)
    SELECT left(event_id_floor(now()::date), 14) || lpad(n::text, 16, '0'), $1, 'lead.created', '{}', now()
    FROM generate_series(1, $2::int) n RETURNING *
)
INSERT INTO outbox (event_id, workspace_id, kind, position, recorded_at)
SELECT id, workspace_id, kind, position, recorded_at FROM made"""

EACH, ONE = True, False
LATER, LONG_DUE = 3600, -3600  # seconds


async def endpoints(workspace: str, prefix: str, count: int, *, is_open: bool = False) -> None:
    await db.rows(_ENDPOINTS, workspace, prefix, count, is_open)


async def deliveries(workspace: str, prefix: str, count: int, whose: bool, due: int) -> None:
    if count:
        await endpoints(workspace, prefix, count if whose is EACH else 1)
        await db.rows(_DELIVERIES, workspace, prefix, count, whose, due)
        await db.rows(_WAKE)


class Touched(NamedTuple):
    """Pages of everything, and rows of deliveries and endpoints."""

    pages: int
    rows: int


async def analyze() -> None:
    await vacuum("delivery", "webhook_endpoint", "event", "outbox")


async def touched(work: Any, *, fresh: bool = True) -> Touched:
    """By all statements of `work`, which is done. With statistics that are `fresh`, or as they are."""
    if fresh:
        await analyze()
    plans = await plans_of(work)
    return Touched(
        pages(plans),
        round(
            sum(
                (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]
                for plan in plans
                for node in nodes(plan)
                if "Scan" in node["Node Type"] and node.get("Relation Name") in ("delivery", "webhook_endpoint")
            )
        ),
    )


async def queued() -> dict[str, int]:
    found = await db.rows(
        "SELECT left(endpoint_id, 4) AS who, count(*) FROM delivery WHERE state = 'queued' GROUP BY 1"
    )
    return {row["who"]: row["count"] for row in found}


async def test_admission_costs_what_is_due_whatever_waits_and_however_much_is_due(workspace):
    costs = {}
    for waiting, backlog in ((0, 2000), (0, 20_000), (2000, 2000), (2000, 20_000)):
        await db.rows("DELETE FROM delivery")
        await db.rows("DELETE FROM webhook_endpoint")
        await deliveries(workspace, "we_a", backlog, ONE, LONG_DUE)
        await deliveries(workspace, "we_b", waiting, EACH, LATER)
        costs[waiting, backlog] = await touched(admit)
        assert await queued() == {"we_a": 100}
    assert len({cost.rows for cost in costs.values()}) == 1
    read = [cost.pages for cost in costs.values()]
    assert max(read) < 2 * min(read), "an index may be a level deeper, and no more"


async def test_who_is_due_is_found_however_many_wait_between(workspace):
    await deliveries(workspace, "we_a", 300, EACH, LONG_DUE)
    await deliveries(workspace, "we_b", 3000, EACH, LATER)
    await db.rows("UPDATE delivery SET due_at = now() WHERE endpoint_id LIKE 'we_b%' AND right(endpoint_id, 2) = '13'")
    await deliveries(workspace, "we_c", 5000, ONE, LONG_DUE)
    await deliveries(workspace, "we_d", 100, EACH, LONG_DUE)
    read = 0
    while True:
        before = await queued()
        read += (await touched(admit)).pages
        if await queued() == before:
            break
    assert before == {"we_a": 300, "we_b": 30, "we_c": 256, "we_d": 100}
    assert read < 25_000


async def test_care_of_the_queue_reads_no_delivery_that_waits(workspace, redis):
    await deliveries(workspace, "we_a", 20_000, ONE, LONG_DUE)
    await deliveries(workspace, "we_b", 2000, EACH, LATER)
    assert len(await admit()) == 100
    lost = partial(reconcile.reconcile, redis, 1, 0.0, reconcile.Living(0.0))
    for work in (partial(close_overfull, 50), lost):
        found = await touched(work)
        assert 100 <= found.rows <= 300


async def test_to_cancel_a_batch_costs_the_same_however_much_is_left(workspace):
    read = []
    for prefix, backlog in (("we_a", 2000), ("we_b", 20_000)):
        await deliveries(workspace, prefix, backlog, ONE, LONG_DUE)
        await discard.start(f"{prefix}000001")
        read.append((await touched(partial(discard.step, f"{prefix}000001"))).pages)
        await db.rows("DELETE FROM discard")
    assert read[1] < 1.5 * read[0]


async def test_a_fan_out_does_not_rest_on_statistics(workspace):
    """They know of one endpoint with all the deliveries, when a hundred others have come."""
    await deliveries(workspace, "we_a", 5000, ONE, LONG_DUE)
    await analyze()
    await endpoints(workspace, "we_b", 100, is_open=True)
    await db.rows(_EVENTS, workspace, 3)
    found = await touched(fan_out.fan_out, fresh=False)
    assert await queued() == {"we_b": 300}
    assert found.rows < 1000


async def test_nor_does_a_wake(workspace):
    """They know of no endpoint, when a thousand have come."""
    await endpoints(workspace, "we_a", 1000)
    await db.rows("DELETE FROM webhook_endpoint")
    await db.rows("VACUUM (ANALYZE, TRUNCATE off) webhook_endpoint")
    await endpoints(workspace, "we_b", 1000)
    ids = [row["id"] for row in await db.rows("UPDATE webhook_endpoint SET waiting_from = 'infinity' RETURNING id")]
    found = await touched(partial(due.wake, ids), fresh=False)
    assert await db.value("SELECT count(*) FROM webhook_endpoint WHERE waiting_from <= now()") == len(ids)
    assert found.pages < 50_000


@pytest.mark.parametrize("number", [100, 3000])
async def test_a_batch_is_bounded_in_deliveries_too(workspace, number):
    await endpoints(workspace, "we_a", number)
    await db.rows(_EVENTS, workspace, 60 if number < 1000 else 3)
    made = []
    while (await fan_out.fan_out()).events:
        made.append(await db.value("SELECT count(*) FROM delivery") - sum(made))
    assert sum(made) == (60 if number < 1000 else 3) * number
    assert max(made) == max(number, fan_out.DELIVERIES)


async def test_who_observes_what_is_overdue_reads_no_idle_endpoint(workspace):
    await deliveries(workspace, "we_a", 20, EACH, LONG_DUE)
    few = await touched(gauges.STATEMENTS["overdue"].rows)
    await endpoints(workspace, "we_b", 5000, is_open=True)
    many = await touched(gauges.STATEMENTS["overdue"].rows)
    assert many.rows == few.rows
    assert many.pages < 3 * few.pages, "an index may be a level deeper"
    assert [dict(row)["count"] for row in await gauges.STATEMENTS["overdue"].rows()] == [20]
