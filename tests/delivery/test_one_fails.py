"""Whatever the work of one workspace, endpoint or event fails with, that of the others is done in the same round."""

import contextlib
import time
from types import SimpleNamespace

import pytest

from leadwire.delivery import erase, pull, redrive_job
from leadwire.delivery.endpoints import discard
from leadwire.delivery.relay import admit, fan_out
from leadwire.domain.accounts import changes as accounts
from leadwire.domain.bots import changes as bots
from leadwire.domain.webhooks import changes, redrives
from leadwire.domain.webhooks.redrives import Selection
from leadwire.infrastructure import clock, db, loop
from tests import jobs, make
from tests.delivery.interleaved import apart
from tests.delivery.test_delivery import broken
from tests.delivery.wired import endpoint


@pytest.fixture
def no_rest(monkeypatch):
    """What has failed is tried in the next round."""
    monkeypatch.setattr(loop, "_LONGEST", 0.0)


@contextlib.asynccontextmanager
async def refused(table: str, event: str, condition: str, code: str = "P0001"):
    """Let PostgreSQL refuse such changes, with an error that nobody expects, or with another code."""
    await db.rows(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS"
        f" $$ BEGIN RAISE EXCEPTION 'refused' USING ERRCODE = '{code}'; END $$"
    )
    await db.rows(
        f"CREATE TRIGGER refuse BEFORE {event} ON {table} FOR EACH ROW WHEN ({condition}) EXECUTE FUNCTION refuse()"
    )
    try:
        yield
    finally:
        await db.rows("DROP FUNCTION refuse CASCADE")


class Two:
    """A workspace whose work fails, which comes first, and another one."""

    def __init__(self, bad: str, good: str, url: str) -> None:
        self.bad, self.good, self._url = bad, good, url

    async def endpoints(self) -> tuple[str, str]:
        return (await endpoint(self.bad, self._url)).id, (await endpoint(self.good, self._url)).id

    async def leads(self, count: int = 1) -> None:
        """In both; the relay has to make their deliveries."""
        for workspace in (self.bad, self.good):
            bot = await bots.create(workspace, "Bot")
            for _ in range(count):
                await make.somebody(workspace, bot)

    async def states(self) -> tuple[list[str], list[str]]:
        rows = await db.rows("SELECT workspace_id, state FROM every_delivery")
        return [row[1] for row in rows if row[0] == self.bad], [row[1] for row in rows if row[0] == self.good]


@pytest.fixture
async def two(database, receiver, wire):
    return Two(*sorted([await accounts.create_workspace("A"), await accounts.create_workspace("B")]), receiver.url)


async def events_aside() -> int:
    return len(await fan_out.listed())


async def test_a_workspace_that_is_not_relayed(two, no_rest, wire):
    await two.endpoints()
    await two.leads(2)
    async with refused("delivery", "INSERT", f"NEW.workspace_id = '{two.bad}'"):
        assert (await fan_out.fan_out()).events == 2
        assert await two.states() == ([], ["waiting"] * 2)
        assert await events_aside() == 0, "it may be the fault of no event"
        for _ in range(fan_out._TRIES):
            await fan_out.fan_out()
        assert await events_aside() == 2
        assert {error for *_, error in await fan_out.listed()} == {"RaiseError: refused"}
    assert (await fan_out.fan_out()).events == 0
    assert await fan_out.release() == 2
    assert (await fan_out.fan_out()).events == 2
    assert await broken(wire) == []


async def test_an_event_that_is_not_relayed(two, no_rest, wire):
    await two.endpoints()
    await two.leads(11)
    (event_id,) = await db.rows(
        "SELECT event_id FROM outbox WHERE workspace_id = $1 ORDER BY position OFFSET 5 LIMIT 1", two.bad
    )
    async with refused("delivery", "INSERT", f"NEW.event_id = '{event_id[0]}'"):
        assert (await fan_out.fan_out()).events == 21
        assert await events_aside() == 0, "the cause may end"
        for _ in range(fan_out._TRIES):
            await fan_out.fan_out()
        assert [row[0] for row in await fan_out.listed()] == [event_id[0]]
        assert await fan_out.release("evt_other") == 0
    assert await fan_out.release(event_id[0]) == 1
    assert (await fan_out.fan_out()).events == 1


async def test_a_workspace_that_rests_is_left_out(two, monkeypatch):
    await two.endpoints()
    await two.leads()
    async with refused("delivery", "INSERT", f"NEW.workspace_id = '{two.bad}'"):
        await fan_out.fan_out()
    assert (await fan_out.fan_out()).events == 0
    monkeypatch.setattr(loop, "time", SimpleNamespace(monotonic=lambda: time.monotonic() + 1))
    assert (await fan_out.fan_out()).events == 1


async def test_an_endpoint_that_is_not_admitted(two):
    await two.endpoints()
    await two.leads()
    await fan_out.fan_out()
    async with refused("delivery", "UPDATE", f"NEW.workspace_id = '{two.bad}'"):
        assert len(await admit.admit()) == 1
    assert await two.states() == (["waiting"], ["queued"])


async def test_an_endpoint_that_is_not_closed(two):
    ids = await two.endpoints()
    await two.leads(2)
    await fan_out.fan_out()
    await admit.admit()
    async with refused("webhook_endpoint", "UPDATE", f"NEW.workspace_id = '{two.bad}'"):
        await admit.close_overfull(1)
    assert await db.rows("SELECT id FROM webhook_endpoint WHERE open") == [(ids[0],)]


async def test_an_endpoint_that_somebody_holds_is_not_waited_for(two):
    ids = await two.endpoints()
    await two.leads(2)
    await fan_out.fan_out()
    await admit.admit()
    async with db.transaction():
        await db.rows("SELECT 1 FROM webhook_endpoint WHERE id = $1 FOR UPDATE", ids[0])
        await apart(admit.close_overfull(1))
    assert await db.rows("SELECT id FROM webhook_endpoint WHERE open") == [(ids[0],)]


async def test_what_was_fetched_and_does_not_expire(two, wire, db_clock):
    fetching = [(await endpoint(workspace, "pull:crm")).id for workspace in (two.bad, two.good)]
    await db.rows("UPDATE webhook_endpoint SET token = decode(md5(id), 'hex')")
    await two.leads()
    await fan_out.fan_out()
    for endpoint_id, workspace in zip(fetching, (two.bad, two.good), strict=True):
        await pull.take(endpoint_id, workspace, 10, wire.settings)
    await db_clock.forward(3600)
    async with refused("delivery", "UPDATE", f"NEW.workspace_id = '{two.bad}'"):
        assert await pull.expire(wire.settings) == 1
    assert await two.states() == (["queued"], ["waiting"])


async def dead(two, wire, receiver) -> tuple[str, str]:
    ids = await two.endpoints()
    receiver.answer = 410
    await two.leads()
    await wire.turn()
    for workspace, endpoint_id in zip((two.bad, two.good), ids, strict=True):
        await changes.enable(workspace, endpoint_id)
        await redrives.start(workspace, Selection(endpoint_id=endpoint_id), 1000)
    return ids


async def test_a_redrive_that_fails(two, wire, receiver):
    await dead(two, wire, receiver)
    async with refused("delivery", "INSERT", f"NEW.workspace_id = '{two.bad}'"):
        assert await jobs.redrive() == 1
    assert await two.states() == (["dead"], ["waiting"])


@pytest.mark.parametrize("count", [1, 5])
async def test_a_delivery_that_is_not_redriven(two, wire, receiver, count):
    await two.endpoints()
    receiver.answer = 410
    await two.leads(count)
    await wire.turn()
    await db.rows("UPDATE webhook_endpoint SET enabled = true")
    job = await redrives.start(two.bad, Selection(), 1000)
    event_id = await db.value("SELECT event_id FROM delivery_result WHERE workspace_id = $1 LIMIT 1", two.bad)
    async with refused("delivery", "INSERT", f"NEW.event_id = '{event_id}'"):
        assert [await jobs.redrive() for _ in range(redrive_job._TRIES + 1)] == [0] * redrive_job._TRIES + [count - 1]
    assert sorted((await two.states())[0]) == ["dead", *["waiting"] * (count - 1)]
    assert (await redrives.one(None, job.id)).state == "finished"


async def test_a_redrive_to_an_endpoint_that_somebody_holds(two, wire, receiver):
    ids = await dead(two, wire, receiver)
    async with db.transaction():
        await db.rows("SELECT 1 FROM webhook_endpoint WHERE id = $1 FOR UPDATE", ids[0])
        assert await apart(jobs.redrive()) == 1
    assert await two.states() == (["dead"], ["waiting"])
    assert await jobs.redrive() == 1


async def discarded(two) -> None:
    ids = await two.endpoints()
    await two.leads()
    await fan_out.fan_out()
    for endpoint_id in ids:
        await discard.start(endpoint_id)


async def test_a_discard_that_fails(two):
    await discarded(two)
    async with refused("delivery", "DELETE", f"OLD.workspace_id = '{two.bad}'"):
        await jobs.run("discard")
    assert await two.states() == (["waiting"], ["cancelled"])


async def test_a_delivery_that_is_not_discarded(two):
    await two.endpoints()
    await two.leads(5)
    await fan_out.fan_out()
    endpoint_id, event_id = (await db.rows("SELECT endpoint_id, event_id FROM delivery LIMIT 1"))[0]
    await discard.start(endpoint_id)
    async with refused("delivery", "DELETE", f"OLD.event_id = '{event_id}'"):
        assert await discard.step(endpoint_id) == 4
        with pytest.raises(Exception, match="refused"):
            await discard.step(endpoint_id)
    assert await discard.step(endpoint_id) == 1


async def test_an_event_that_is_not_blanked(two):
    await two.endpoints()
    await two.leads(3)
    await db.rows("DELETE FROM outbox")
    of_both = "SELECT count(*) FROM event WHERE workspace_id = $1 AND body <> ''"
    count = await db.value(of_both, two.bad)
    event_id = await db.value("SELECT id FROM event WHERE workspace_id = $1 LIMIT 1", two.bad)
    async with refused("event", "UPDATE", f"NEW.id = '{event_id}'"):
        assert await erase.blank_events(two.bad, clock.ago(days=1), clock.ago(days=-1)) == (count - 1, False)
    assert await db.value(of_both, two.bad) == 1


async def test_a_discard_of_what_somebody_holds(two):
    await discarded(two)
    async with db.transaction():
        await db.rows("SELECT 1 FROM delivery WHERE workspace_id = $1 FOR UPDATE", two.bad)
        await apart(jobs.run("discard"))
    assert await two.states() == (["waiting"], ["cancelled"])
    await jobs.make_due("discard")
    await jobs.run("discard")
    assert await two.states() == (["cancelled"], ["cancelled"])
