"""Each statement of the engine: PostgreSQL refuses the rows of one workspace, and the other's webhook arrives."""

import pytest

from leadwire.delivery import streams
from leadwire.delivery.relay import fan_out, reconcile
from leadwire.domain.webhooks import changes
from leadwire.infrastructure import db
from tests import jobs
from tests.delivery.test_one_fails import dead, refused
from tests.delivery.test_poison import run_until

_DELIVERED = "SELECT count(*) > 0 FROM every_delivery WHERE workspace_id = $1 AND state = 'delivered'"


async def delivered(workspace: str) -> bool:
    return bool(await db.value(_DELIVERED, workspace))


@pytest.fixture
def arrives(two, wire, receiver):
    """The next turn brings the webhook of the good workspace, and none of the bad one."""

    async def arrived() -> None:
        count = len(receiver.deliveries)
        await wire.turn()
        assert len(receiver.deliveries) == count + 1
        assert (await delivered(two.bad), await delivered(two.good)) == (False, True)

    return arrived


async def queued(two, wire) -> None:
    await two.endpoints()
    await two.leads()
    await wire.relay()


@pytest.mark.parametrize(
    ("member", "table", "event"),
    [("claim", "delivery", "UPDATE"), ("record", "delivery_result", "INSERT")],
    ids=["claim", "record"],
)
async def test_worker(member, table, event, two, wire, hasty, note):
    await queued(two, wire)
    async with refused(table, event, f"NEW.workspace_id = '{two.bad}'"):
        await run_until(hasty, lambda: delivered(two.good))
    assert not await delivered(two.bad)
    note(member, f"{event} of {table} refused", "other webhook arrived in the same turn")


async def test_fan_out(two, arrives, note):
    await two.endpoints()
    await two.leads()
    async with refused("delivery", "INSERT", f"NEW.workspace_id = '{two.bad}'"):
        await arrives()
    note("fan-out", "INSERT of delivery refused", "other webhook arrived in the same turn")


async def test_admit(two, arrives, note):
    await two.endpoints()
    await two.leads()
    await fan_out.fan_out()
    async with refused("delivery", "UPDATE", f"NEW.workspace_id = '{two.bad}'"):
        await arrives()
    note("admit", "UPDATE of delivery refused", "other webhook arrived in the same turn")


async def test_redrive_step(two, wire, receiver, arrives, note):
    await dead(two, wire, receiver)
    receiver.answer = 204
    async with refused("delivery", "INSERT", f"NEW.workspace_id = '{two.bad}'"):
        assert await jobs.redrive() == 1
        await arrives()
    note("redrive step", "INSERT of delivery refused", "other webhook arrived in the next turn")


async def test_discard_step(two, wire, receiver, note):
    ids = await two.endpoints()
    await two.leads()
    await fan_out.fan_out()
    for workspace, endpoint_id in zip((two.bad, two.good), ids, strict=True):
        await changes.delete(workspace, endpoint_id)
    async with refused("delivery", "DELETE", f"OLD.workspace_id = '{two.bad}'"):
        await jobs.run("discard")
    assert await two.states() == (["waiting"], ["cancelled"])
    note("discard step", "DELETE of delivery refused", "others cancelled in the same round")


@pytest.mark.usefixtures("no_rest")
async def test_reconcile(two, wire, db_clock, arrives, note):
    await queued(two, wire)
    await wire.redis.flushall()
    await streams.prepare(wire.redis, wire.settings.stream_shards)
    await db_clock.forward(31)
    async with refused("delivery", "UPDATE", f"NEW.workspace_id = '{two.bad}'"):
        assert await wire.reconcile() == 1
        await arrives()
    note("reconcile", "UPDATE of delivery refused", "other webhook arrived in the next turn")
    assert await wire.reconcile() == 1


@pytest.mark.parametrize("turned", [False, True])  # which of the two PostgreSQL finds first is its plan's choice
async def test_reconcile_where_they_fill_a_batch(turned, two, wire, db_clock, arrives, note, monkeypatch):
    monkeypatch.setattr(reconcile, "BATCH", 1)
    if turned:
        two.bad, two.good = two.good, two.bad
    await queued(two, wire)
    await wire.redis.flushall()
    await streams.prepare(wire.redis, wire.settings.stream_shards)
    await db_clock.forward(31)
    async with refused("delivery", "UPDATE", f"NEW.workspace_id = '{two.bad}'"):
        assert sum([await wire.reconcile(), await wire.reconcile()]) == 1
        await arrives()
    note("reconcile, a batch of them", "UPDATE of delivery refused", "other webhook arrived in the next turn")
