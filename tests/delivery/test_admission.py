"""What admission and its neighbours do at once: no wake-up is lost, and nobody waits for a stranger."""

import asyncio
from datetime import timedelta

import pytest

from leadwire.delivery.endpoints import changes as rows
from leadwire.delivery.monitoring import status as monitoring
from leadwire.delivery.relay import admit, fan_out
from leadwire.delivery.worker import recorder
from leadwire.delivery.worker.observe import Liveness
from leadwire.domain.accounts import changes as accounts
from leadwire.domain.bots import changes as bots
from leadwire.domain.webhooks import changes, reads
from leadwire.domain.webhooks.schema import EndpointChange
from leadwire.infrastructure import clock, db
from tests import make
from tests.delivery.interleaved import Held, apart, blocked
from tests.delivery.test_delivery import states
from tests.delivery.wired import endpoint, redriven
from tests.waiting import eventually


async def by_endpoint() -> dict[str, str]:
    return {row["endpoint_id"]: row["state"] for row in await db.rows("SELECT endpoint_id, state FROM every_delivery")}


async def test_a_fan_out_amid_an_admission_wakes_it_again(workspace, bot, wire, receiver, monkeypatch):
    """It comes after the endpoint was chosen, and before what waits for it is looked at."""
    monkeypatch.setattr(fan_out, "_PATIENCE", "4min")
    made = await endpoint(workspace, receiver.url)
    await changes.configure(workspace, made.id, EndpointChange(rate_limit=60))
    admitting = Held(admit._ADMIT)
    with monkeypatch.context() as patched:
        patched.setattr(admit, "_ADMIT", admitting)
        first = apart(admit.admit())
        await admitting.reached.wait()
        await make.lead(workspace, bot)
        fanning = apart(fan_out.fan_out())
        await blocked()
        admitting.go.set()
        assert await first == []
    assert (await fanning).waiting == 1
    assert len(await admit.admit()) == 1


async def test_an_admission_amid_a_fan_out_leaves_the_endpoint_to_the_next_round(
    workspace, bot, wire, receiver, monkeypatch
):
    await endpoint(workspace, receiver.url)
    await make.lead(workspace, bot)
    making = Held(fan_out._FAN_OUT)
    with monkeypatch.context() as patched:
        patched.setattr(fan_out, "_FAN_OUT", making)
        fanning = apart(fan_out.fan_out())
        await making.reached.wait()
        assert await admit.admit() == []
        making.go.set()
        assert (await fanning).waiting == 1
    assert len(await admit.admit()) == 1


async def test_a_redrive_amid_an_admission_wakes_it_again(workspace, bot, wire, receiver, monkeypatch):
    made = await endpoint(workspace, receiver.url)
    receiver.answer = 410
    await make.lead(workspace, bot)
    await wire.turn()
    await changes.enable(workspace, made.id)
    admitting = Held(admit._ADMIT)
    with monkeypatch.context() as patched:
        patched.setattr(admit, "_ADMIT", admitting)
        first = apart(admit.admit())
        await admitting.reached.wait()
        again = apart(redriven(workspace, await db.value("SELECT event_id FROM every_delivery")))
        await blocked()
        admitting.go.set()
        assert await first == []
    assert await again == 1
    assert len(await admit.admit()) == 1


async def test_a_persons_open_transaction_delays_nobody_elses_fan_out(workspace, bot, wire, receiver):
    """Nor the claims and admissions of others. Its own workspace waits, and goes on afterwards."""
    other = await accounts.create_workspace("Other")
    mine, theirs = await endpoint(workspace, receiver.url), await endpoint(other, receiver.url)
    await make.lead(workspace, bot)
    await make.lead(other, await bots.create(other, "Bot"))
    async with db.transaction():
        await rows.lock(mine.id)
        assert (await apart(fan_out.fan_out())).waiting == 1
        assert await by_endpoint() == {theirs.id: "waiting"}
        (done,) = await apart(wire.turn())
        assert done.job.entry.key.endpoint_id == theirs.id
    await wire.turn()
    assert await states() == {"delivered": 2}


async def test_a_persons_open_transaction_delays_nobody_elses_claims_and_records(
    workspace, bot, wire, receiver, monkeypatch
):
    """One batch has outcomes of both, which say something of their endpoints."""
    monkeypatch.setattr(recorder, "_AGAIN", 0.01)
    mine, other = await endpoint(workspace, receiver.url), await endpoint(workspace, receiver.url)
    receiver.answer = 500
    await make.lead(workspace, bot)
    await wire.relay()
    async with db.transaction():
        await rows.lock(mine.id)
        jobs = await apart(wire.claim())
        assert len(jobs) == 2
        held = {job.entry.key: job.entry for job in jobs}
        recording = recorder.Recorder(wire.redis, wire.consumer, held, Liveness(30))
        for outcome in await apart(wire.post(jobs)):
            recording.put(outcome)
        recording.end()
        running = apart(recording.run())
        await eventually(lambda: _is_recorded(other.id))
        assert await by_endpoint() == {mine.id: "queued", other.id: "waiting"}
        assert not running.done()
    await running
    assert await states() == {"waiting": 2}
    assert held == {}


async def _is_recorded(endpoint_id: str) -> bool:
    return (await by_endpoint())[endpoint_id] == "waiting"


@pytest.mark.parametrize("status", [429, 503])
async def test_retry_after_pauses_the_endpoint_and_costs_the_others_no_attempt(
    workspace, bot, wire, receiver, db_clock, status
):
    """Whether they were made before it or after, or were queued already."""
    made = await endpoint(workspace, receiver.url)
    await wire.relay()
    await make.lead(workspace, bot)
    await wire.relay()
    first = await wire.claim()
    await make.lead(workspace, bot, email="queued@example.com")
    await wire.relay()
    receiver.answer, receiver.extra_headers = status, "Retry-After: 600\r\n"
    await wire.settle(await wire.post(first))
    assert await wire.deliver() == [], "what was queued is put back"
    await make.lead(workspace, bot, email="new@example.com")
    assert await wire.turn() == []
    now = await monitoring.read(wire.redis, wire.settings.stream_shards, finished=False)
    assert (now.paused_endpoints, now.overdue.deliveries, now.behind) == (1, 0, []), "a pause is told, and is no lag"
    assert (await reads.endpoint(workspace, made.id)).paused_until > clock.iso(clock.now())
    await db_clock.forward(590)
    assert await wire.turn() == []
    receiver.answer, receiver.extra_headers = 204, ""
    await db_clock.forward(10)
    await wire.turn()
    assert await states() == {"delivered": 3}
    assert sorted(one.attempt for one in receiver.deliveries) == [1, 1, 1, 2]
    with clock.at(clock.now() + timedelta(seconds=601)):
        assert (await reads.endpoint(workspace, made.id)).paused_until is None


async def test_any_other_answer_with_retry_after_puts_off_its_own_retry_only(workspace, bot, wire, receiver):
    await endpoint(workspace, receiver.url)
    receiver.answer, receiver.extra_headers = 500, "Retry-After: 600\r\n"
    await make.lead(workspace, bot)
    await wire.turn()
    await make.lead(workspace, bot, email="other@example.com")
    assert len(await asyncio.wait_for(wire.turn(), 240)) == 1
