"""What a receiver asks for, and the end of a lease, cost no more where more waits or has happened."""

from functools import partial

import pytest

from leadwire.delivery import checkpoints, pull
from leadwire.infrastructure import db, secret_box, settings
from tests.plans.explained import nodes, plans_of, vacuum
from tests.plans.test_relay import EACH, LATER, LONG_DUE, ONE, deliveries, touched

_EVENTS = """
INSERT INTO event (id, workspace_id, kind, body, occurred_at)
SELECT event_id, workspace_id, 'lead.created', '{}', now() FROM delivery WHERE endpoint_id LIKE 'we_a%'"""
_PULL = "UPDATE webhook_endpoint SET url = 'pull:crm', token = 'x', secret = $1 WHERE id LIKE 'we_a%' RETURNING id"


async def test_it_costs_what_is_handed_out(workspace):
    costs = {}
    for backlog, waiting in ((500, 0), (5000, 0), (500, 3000), (5000, 3000)):
        for table in ("delivery", "webhook_endpoint", "event"):
            await db.rows(f"DELETE FROM {table}")
        await deliveries(workspace, "we_a", backlog, ONE, LONG_DUE)
        await deliveries(workspace, "we_b", waiting, EACH, LATER)
        await db.rows(_EVENTS)
        endpoint = await db.value(_PULL, secret_box.get().seal(f"whsec_{'A' * 44}"))
        works = (
            partial(pull.until_due, endpoint, workspace),
            partial(pull.take, endpoint, workspace, 10, settings.get()),
            partial(pull.expire, settings.get()),
        )
        costs[backlog, waiting] = [(await touched(work)).rows for work in works]
        await db.rows("UPDATE webhook_endpoint SET enabled = false WHERE id = $1", endpoint)
        costs[backlog, waiting] += [(await touched(work)).rows for work in works[:2]]
    assert all(max(rows) < 150 for rows in costs.values()), costs


_ENDED = """
INSERT INTO delivery_result (event_id, endpoint_id, workspace_id, state, attempts, generation, test, created_at,
    finished_at, sequence)
SELECT event_id, endpoint_id, workspace_id, 'delivered', 1, 1, false, now(), now(), row_number() OVER ()
FROM delivery"""


@pytest.mark.parametrize("ended", [1000, 20_000])
async def test_a_checkpoint_costs_what_it_covers(workspace, monkeypatch, ended):
    monkeypatch.setattr(db, "_INDEXES_ONLY", {})  # as in `serve`
    monkeypatch.setattr(checkpoints, "MOST", 100)
    await deliveries(workspace, "we_a", ended, ONE, LONG_DUE)
    await db.rows(_EVENTS)
    await db.rows(_ENDED)
    await db.rows("DELETE FROM delivery")
    await db.rows("INSERT INTO endpoint_sequence SELECT id, $1 FROM webhook_endpoint", ended)
    await vacuum("event", "delivery", "delivery_result")
    endpoint = await db.value("SELECT id FROM webhook_endpoint")
    assert (await checkpoints.read(workspace, endpoint, 300)).count == 100
    (plan,) = await plans_of(partial(checkpoints.read, workspace, endpoint, 300))
    rows = [node["Actual Rows"] * node["Actual Loops"] for node in nodes(plan) if "Scan" in node["Node Type"]]
    assert sum(rows) < 1000
