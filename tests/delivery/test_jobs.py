"""Redrives and discards are jobs, added with their cause."""

from leadwire.delivery.relay.fan_out import fan_out
from leadwire.delivery.streams import push
from leadwire.domain.webhooks import changes, redrives
from leadwire.domain.webhooks.redrives import Selection
from leadwire.infrastructure import db
from tests import jobs, make
from tests.delivery.test_redrives import dead
from tests.delivery.wired import endpoint


async def added(kind: str) -> list[tuple[str, str]]:
    rows = await db.rows("SELECT key, workspace_id FROM job WHERE kind = $1 AND due_at <= now()", kind)
    return [tuple(row) for row in rows]


async def test_a_redrive_has_a_job_while_it_runs(workspace, bot, wire, receiver):
    await dead(workspace, bot, wire, receiver, 3)
    job = await redrives.start(workspace, Selection(), 1)
    await redrives.move(workspace, job.id, "pause")
    assert await added("redrive") == [(job.id, workspace)]
    assert await jobs.redrive() == 0
    assert await added("redrive") == []
    await redrives.move(workspace, job.id, "resume")
    assert await added("redrive") == [(job.id, workspace)]
    await redrives.move(workspace, job.id, "cancel")
    assert await jobs.redrive() == 0
    assert await db.value("SELECT count(*) FROM job WHERE kind = 'redrive'") == 0


async def test_a_redrive_of_nothing_has_none(workspace):
    await redrives.start(workspace, Selection(), 1)
    assert await added("redrive") == []


async def test_the_relay_is_woken_for_what_waits_again(workspace, bot, wire, receiver, monkeypatch):
    await dead(workspace, bot, wire, receiver, 1)
    await redrives.start(workspace, Selection(), 100)
    woken = []
    monkeypatch.setattr(push._announcer, "announce", woken.append)
    assert await jobs.redrive() == 1
    assert woken == [push.WAKE]


async def test_what_waits_for_a_removed_endpoint_is_canceled_whatever_the_clock_was(workspace, bot, wire, receiver):
    """The clock was put back, or that of the server was ahead which the workspace comes from."""
    made = await endpoint(workspace, receiver.url)
    await make.lead(workspace, bot)
    await fan_out()
    await changes.disable(workspace, made.id)
    await db.rows("UPDATE delivery SET state = 'waiting', created_at = created_at + interval '1 minute'")
    await changes.delete(workspace, made.id)
    await jobs.run("discard")
    states = await db.rows("SELECT DISTINCT state FROM every_delivery")
    assert [row["state"] for row in states] == ["cancelled"]
    assert await db.value("SELECT count(*) FROM discard") == 0


async def test_a_discard_has_a_job_of_its_workspace(workspace, bot, wire, receiver):
    made, other = await endpoint(workspace, receiver.url), await endpoint(workspace, receiver.url)
    await changes.discard(workspace, made.id)
    await changes.delete(workspace, other.id)
    assert sorted(await added("discard")) == sorted([(made.id, workspace), (other.id, workspace)])
    await jobs.run("discard")
    assert await db.value("SELECT count(*) FROM discard") == 0
    assert await added("discard") == []
