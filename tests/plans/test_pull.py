"""What a fetch and the end of a lease cost does not grow with what waits, there or elsewhere."""

from functools import partial

from leadwire.delivery import pull
from leadwire.infrastructure import db, secret_box, settings
from tests.plans.test_relay import EACH, LATER, LONG_DUE, ONE, deliveries, touched

_EVENTS = """
INSERT INTO event (id, workspace_id, kind, body, occurred_at)
SELECT event_id, workspace_id, 'lead.created', '{}', now() FROM delivery WHERE endpoint_id LIKE 'we_a%'"""
_PULL = "UPDATE webhook_endpoint SET url = 'pull:crm', token = 'x', secret = $1 WHERE id LIKE 'we_a%' RETURNING id"


async def test_it_costs_what_is_handed_out(workspace, monkeypatch):
    costs = {}
    for backlog, waiting in ((500, 0), (5000, 0), (500, 3000), (5000, 3000)):
        for table in ("delivery", "webhook_endpoint", "event"):
            await db.rows(f"DELETE FROM {table}")
            await db.rows(f"VACUUM {table}")
        await deliveries(workspace, "we_a", backlog, ONE, LONG_DUE)
        await deliveries(workspace, "we_b", waiting, EACH, LATER)
        await db.rows(_EVENTS)
        endpoint = await db.value(_PULL, secret_box.get().seal(f"whsec_{'A' * 44}"))
        works = (
            partial(pull.is_due, endpoint, workspace),
            partial(pull.take, endpoint, workspace, 10, settings.get()),
            partial(pull.expire, settings.get()),
        )
        costs[backlog, waiting] = [(await touched(work, monkeypatch)).rows for work in works]
    assert all(max(rows) < 100 for rows in costs.values()), costs
