"""A transaction that somebody else holds open, such as a dump, makes no delivery cost more pages."""

import subprocess
import sys
from pathlib import Path

import asyncpg
import pytest
from ops.bench.old_snapshot import Delivering, make_endpoints

from leadwire.delivery.relay import queue_front
from leadwire.infrastructure import db
from tests.plans.explained import pages, plans_of, vacuum

ROOT = Path(__file__).parents[2]
_TURNS = 40  # of 20 deliveries


def test_deliveries_cost_the_same_beside_an_old_snapshot():
    command = [sys.executable, "-m", "ops.bench.old_snapshot", "--deliveries", "800", "--windows", "2"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]


@pytest.mark.parametrize("kind", ["ordered", "rated"])
async def test_no_statement_reads_what_was_delivered(workspace, redis, servers, monkeypatch, kind):
    """Between the looks at whole queues, which come with the clock. Each window may be full, so what is queued is
    counted.
    """
    monkeypatch.setattr(queue_front, "_EVERY", 3600.0)
    await vacuum("delivery", "outbox", "webhook_endpoint")
    await make_endpoints(workspace, kind)
    delivering, costs = Delivering(redis, workspace, 1), []
    await delivering.prepare()
    holder = await asyncpg.connect(servers.database_url)
    async with holder.transaction(isolation="repeatable_read"):
        await holder.fetch("SELECT count(*) FROM workspace")
        for turn in range(_TURNS + 1):
            await delivering.turn()
            if turn % _TURNS:
                continue
            await db.rows("UPDATE webhook_endpoint SET looked_at = now(), queued = admission_window")
            plans = await plans_of(delivering.turn)
            costs.append(max(pages([plan]) for plan in plans))
    await holder.close()
    assert costs[1] < costs[0] + 300, "800 deliveries have left a dead row each"
