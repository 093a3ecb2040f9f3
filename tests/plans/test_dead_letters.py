"""Dead letters, of which there may be very many when something is wrong, are counted without their rows."""

from functools import partial

from leadwire.domain.webhooks import stats
from leadwire.infrastructure import db
from tests.delivery.wired import endpoint
from tests.plans.explained import nodes, plans_of, vacuum

# One in ten, and half of these are tests, which do not count.
_DEAD = """
INSERT INTO delivery_result (event_id, endpoint_id, workspace_id, state, attempts, generation, test, created_at,
    finished_at)
SELECT 'evt_' || n, $1, $2, CASE n % 10 WHEN 0 THEN 'dead' ELSE 'delivered' END, 4, 1, n % 20 = 0, now(), now()
FROM generate_series(1, 20000) n"""


async def test_dead_letters_are_counted_by_an_index_alone(workspace):
    endpoint_id = (await endpoint(workspace, "https://example.com")).id
    await db.rows(_DEAD, endpoint_id, workspace)
    await vacuum("delivery_result")
    (plan,) = await plans_of(partial(stats._NOW.rows, workspace=workspace, endpoints=[endpoint_id]))
    (scan,) = [node for node in nodes(plan) if node.get("Relation Name") == "delivery_result_default"]
    assert scan["Node Type"] == "Index Only Scan"
    assert scan["Heap Fetches"] == 0
    assert scan["Actual Rows"] == 1000
