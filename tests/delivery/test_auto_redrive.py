"""Dead letters that are sent again by themselves: a probe finds the receiver back, and the rest follows in order."""

from datetime import timedelta

import pytest

from leadwire.delivery import auto_redrive, pull, redrive_job
from leadwire.delivery.monitoring import ledger
from leadwire.delivery.redrive_job import Criteria
from leadwire.domain.privacy import erasure
from leadwire.domain.webhooks import changes, redrives
from leadwire.domain.webhooks.redrives import Selection
from leadwire.domain.webhooks.schema import EndpointChange
from leadwire.domain.workspaces import changes as workspaces
from leadwire.infrastructure import clock, db
from leadwire.infrastructure.telemetry.metrics import REGISTRY
from tests import jobs, make
from tests.delivery.test_pull import ids_of, puller_of
from tests.delivery.test_redrives import people, states
from tests.delivery.wired import endpoint

ALL = "SELECT count(*) FROM every_delivery WHERE state = 'dead'"
LEFT = "SELECT count(*) FROM job WHERE kind = 'auto_redrive'"


async def healing(workspace: str, url: str, **change: object) -> str:
    """An endpoint whose dead letters are sent again by themselves."""
    made = await endpoint(workspace, url, "lead.created")
    await changes.configure(workspace, made.id, EndpointChange(auto_redrive=True, **change))
    return made.id


async def die(wire, db_clock) -> None:
    """Let all attempts be made, and fail."""
    for seconds in (0, 60, 300, 1800):
        await db_clock.forward(seconds)
        while await wire.turn():
            pass


async def outage(workspace, bot, wire, receiver, db_clock, count: int, **change: object) -> str:
    """An endpoint with `count` dead letters, whose receiver is still down."""
    made = await healing(workspace, receiver.url, **change)
    receiver.answer = 503
    await people(workspace, bot, count)
    await die(wire, db_clock)
    receiver.deliveries.clear()
    assert await states() == {"dead": count}
    return made


async def pass_by(wire, db_clock, seconds: int, step: int = 5) -> None:
    """Let time go by, with all processes at work."""
    for _ in range(0, seconds, step):
        await db_clock.forward(step)
        await jobs.runner("auto_redrive", "redrive").run_all()
        await wire.turn()


async def found() -> None:
    await jobs.run("auto_redrive")


def probes() -> float:
    return REGISTRY.get_sample_value("leadwire_auto_redrives_total", {"what": "probe"}) or 0.0


async def balanced(wire) -> list[str]:
    checks, _ = await ledger.check(None, wire.settings)
    return [check.name for check in checks if check.broken]


async def test_a_receiver_that_was_down_for_two_hours_has_everything_in_ten_minutes(
    workspace, bot, wire, receiver, db_clock
):
    """Nobody does anything. Retries of the last 36 minutes are brought forward."""
    await healing(workspace, receiver.url)
    receiver.answer = 503
    for _ in range(14):
        await people(workspace, bot, 3)
        await pass_by(wire, db_clock, 515, 103)
    assert await states() == {"dead": 30, "waiting": 12}
    receiver.answer = 204
    receiver.deliveries.clear()
    await pass_by(wire, db_clock, 600)
    assert await states() == {"delivered": 42}
    assert len({one.webhook_id for one in receiver.deliveries}) == len(receiver.deliveries) == 42
    assert await balanced(wire) == []
    (job,) = await redrives.listed(workspace)
    assert (job.state, job.done) == ("finished", job.total)
    assert job.died_since is not None


async def test_dead_letters_are_sent_again_in_their_order(workspace, bot, wire, receiver, db_clock):
    await outage(workspace, bot, wire, receiver, db_clock, 20)
    receiver.answer = 204
    await pass_by(wire, db_clock, 120, 1)
    assert await states() == {"delivered": 20}
    rest = [one.webhook_id for one in receiver.deliveries[1:]]
    assert rest == sorted(rest), "the first is the probe"


async def test_retries_are_brought_forward_in_their_order_but_for_what_the_receiver_has_put_off(
    workspace, bot, wire, receiver, db_clock, monkeypatch
):
    monkeypatch.setattr(auto_redrive, "_BROUGHT", 2)  # at a time: there are more
    await outage(workspace, bot, wire, receiver, db_clock, 1)
    for seconds in (0, 100, 100, 100, 100):
        await db_clock.forward(seconds)
        await people(workspace, bot, 1)
        await wire.turn()
    await db_clock.forward(300)
    await wire.turn()
    await db_clock.forward(300)
    await wire.turn()
    receiver.answer = 204
    waits = "SELECT extract(epoch FROM due_at - now())::int FROM delivery WHERE attempts > 0 ORDER BY event_id"
    last = "(SELECT max(event_id) FROM delivery)"
    await db.rows(f"UPDATE delivery SET due_at = now() + interval '2 hours' WHERE event_id = {last}")
    fourth = f"(SELECT max(event_id) FROM delivery WHERE event_id < {last})"  # its schedule says five minutes
    await db.rows(f"UPDATE delivery SET attempts = 2, due_at = now() + interval '25 min' WHERE event_id = {fourth}")
    assert [row[0] for row in await db.rows(waits)] == [1200, 1500, 1500, 1500, 7200]
    await pass_by(wire, db_clock, 20)
    assert [row[0] for row in await db.rows(waits)] == [149, 189, 189, 1480, 7180]
    assert await states() == {"delivered": 1, "waiting": 5}
    await pass_by(wire, db_clock, 240)
    assert await states() == {"delivered": 4, "waiting": 2}


async def test_it_is_off_by_default(workspace, bot, wire, receiver, db_clock):
    await endpoint(workspace, receiver.url, "lead.created")
    receiver.answer = 503
    await people(workspace, bot, 1)
    await die(wire, db_clock)
    receiver.answer = 204
    await pass_by(wire, db_clock, 600)
    assert await states() == {"dead": 1}


async def test_probes_come_less_and_less_often_each_for_one_attempt(workspace, bot, wire, receiver, db_clock):
    await outage(workspace, bot, wire, receiver, db_clock, 2)
    before = probes()
    await found()
    at = [(await wire.turn(), 0)]
    since = 0
    for _ in range(160):
        since += 5
        await db_clock.forward(5)
        await jobs.runner("auto_redrive").run_all()
        if done := await wire.turn():
            at.append((done, since))
    assert [seconds for _, seconds in at] == [0, 15, 45, 105, 225, 465, 705]
    assert [one.attempt for one in receiver.deliveries] == [5, 5, 6, 6, 7, 7, 8], "the two take turns"
    assert probes() == before + 7
    assert await states() == {"dead": 2}
    assert await db.value("SELECT max(generation) FROM every_delivery") == 1
    assert await balanced(wire) == []


async def test_what_died_of_a_410_is_probed_by_one_attempt_as_well(workspace, bot, wire, receiver, db_clock):
    """Else its remaining retries keep a receiver that is back waiting for half an hour."""
    made = await healing(workspace, receiver.url)
    receiver.answer = 410
    await people(workspace, bot, 1)
    await wire.turn()
    assert await states() == {"dead": 1}
    receiver.answer = 503
    await changes.enable(workspace, made)
    await found()
    await wire.turn()
    assert await states() == {"dead": 1}
    assert [one.attempt for one in receiver.deliveries] == [1, 5]
    assert await balanced(wire) == []
    receiver.answer = 204
    await pass_by(wire, db_clock, 60)
    assert await states() == {"delivered": 1}


async def test_an_answer_to_a_new_event_lets_the_rest_go_at_once(workspace, bot, wire, receiver, db_clock):
    await outage(workspace, bot, wire, receiver, db_clock, 3)
    await found()
    await wire.turn()
    receiver.answer = 204
    await db_clock.forward(1)
    await people(workspace, bot, 1)
    await wire.turn()
    await pass_by(wire, db_clock, 10)
    assert await states() == {"delivered": 4}


async def test_one_that_is_always_refused_is_not_taken_for_a_receiver_that_is_down(
    workspace, bot, wire, receiver, db_clock
):
    await outage(workspace, bot, wire, receiver, db_clock, 3)
    oldest = await db.value("SELECT min(event_id) FROM every_delivery")
    receiver.answer = lambda request: 400 if request.webhook_id == oldest else 204
    await found()
    await pass_by(wire, db_clock, 120)
    assert await states() == {"delivered": 2, "waiting": 1}
    for _ in range(6):
        await die(wire, db_clock)
        await people(workspace, bot, 1)
        await pass_by(wire, db_clock, 120, 15)
    assert await states() == {"delivered": 8, "dead": 1}
    generation = await db.value("SELECT generation FROM every_delivery WHERE event_id = $1", oldest)
    assert generation == redrive_job.TIMES + 1, "and not for ever"
    assert await balanced(wire) == []


async def test_what_died_before_the_switch_was_set_or_is_too_old_is_left_to_a_person(
    workspace, bot, wire, receiver, db_clock
):
    made = await outage(workspace, bot, wire, receiver, db_clock, 1)
    await changes.configure(workspace, made, EndpointChange(auto_redrive=False))
    receiver.answer = 204
    await found()
    assert await db.value(LEFT) == 0
    await db.rows("UPDATE delivery_result SET finished_at = $1", clock.now() - timedelta(seconds=1))
    await changes.configure(workspace, made, EndpointChange(auto_redrive=True))
    await found()
    assert await db.value(LEFT) == 0
    await db.rows("UPDATE webhook_endpoint SET auto_redrive_since = '-infinity'")
    with clock.at(clock.now() + auto_redrive.OLDEST + timedelta(minutes=1)):
        await found()
        assert await db.value(LEFT) == 0
    await found()
    assert await db.value(LEFT) == 1


async def test_more_than_the_most_are_left_to_a_person(workspace, bot, wire, receiver, db_clock, monkeypatch):
    monkeypatch.setattr(auto_redrive, "MOST", 2)
    await outage(workspace, bot, wire, receiver, db_clock, 4)
    receiver.answer = 204
    await found()
    await pass_by(wire, db_clock, 300, 15)
    assert await states() == {"delivered": 1, "dead": 3}, "the probe"
    assert await redrives.listed(workspace) == []


async def test_it_goes_at_the_pace_of_the_receiver(workspace, bot, wire, receiver, db_clock, monkeypatch):
    """What was let go is sent first: the others do not stand before new events."""
    monkeypatch.setattr(auto_redrive, "_WITHIN", 0.01)
    monkeypatch.setattr(redrive_job, "_UNDER_WAY", 3)
    await outage(workspace, bot, wire, receiver, db_clock, 9)
    receiver.answer = 204
    await found()
    await wire.turn()
    await db_clock.forward(15)
    await jobs.runner("auto_redrive").run_all()
    assert await jobs.redrive() == 3
    await db_clock.forward(1)
    assert await jobs.redrive() == 0, "they wait for their turn"
    await wire.relay()
    assert await jobs.redrive() == 0, "they are being sent"
    await wire.deliver()
    assert await jobs.redrive() == 3


async def test_it_ends_when_the_receiver_fails_again_and_begins_anew(workspace, bot, wire, receiver, db_clock):
    await outage(workspace, bot, wire, receiver, db_clock, 200)
    receiver.answer = 204
    await found()
    await wire.turn()
    await pass_by(wire, db_clock, 20, 1)
    receiver.answer = 503
    await pass_by(wire, db_clock, 2400, 10)
    (job,) = await redrives.listed(workspace)
    assert job.state == "finished"
    assert job.done < 150
    receiver.answer = 204
    await pass_by(wire, db_clock, 600)
    assert await states() == {"delivered": 200}
    assert await balanced(wire) == []


async def test_a_redrive_of_a_person_goes_first(workspace, bot, wire, receiver, db_clock):
    await outage(workspace, bot, wire, receiver, db_clock, 3)
    job = await redrives.start(workspace, Selection(), 1)
    await redrives.move(workspace, job.id, "pause")
    receiver.answer = 204
    await found()
    await pass_by(wire, db_clock, 300, 15)
    assert await states() == {"dead": 3}
    await redrives.move(workspace, job.id, "cancel")
    await pass_by(wire, db_clock, 300)
    assert await states() == {"delivered": 3}


async def test_one_that_a_person_cancels_is_not_begun_again(workspace, bot, wire, receiver, db_clock):
    await outage(workspace, bot, wire, receiver, db_clock, 30)
    receiver.answer = 204
    await found()
    await wire.turn()
    await pass_by(wire, db_clock, 20)
    (job,) = await redrives.listed(workspace)
    await db.rows("UPDATE delivery_result SET finished_at = $1 WHERE state = 'dead'", clock.now())
    await redrives.move(workspace, job.id, "cancel")
    left = await db.value(ALL)
    await found()
    await pass_by(wire, db_clock, 600, 15)
    assert await db.value(ALL) == left > 0
    assert len(await redrives.listed(workspace)) == 1


@pytest.mark.parametrize("off", ["switch", "disabled", "deleted", "suspended"])
async def test_it_rests_where_it_may_not_go_on(off, workspace, bot, wire, receiver, db_clock):
    made = await outage(workspace, bot, wire, receiver, db_clock, 30)
    receiver.answer = 204
    await found()
    await wire.turn()
    await pass_by(wire, db_clock, 20)
    sent = len(receiver.deliveries)
    assert 1 < sent < 30
    if off == "switch":
        await changes.configure(workspace, made, EndpointChange(auto_redrive=False))
    elif off == "disabled":
        await changes.disable(workspace, made)
    elif off == "deleted":
        await changes.delete(workspace, made)
    else:
        await workspaces.suspend(workspace)
    await pass_by(wire, db_clock, 300, 15)
    assert len(receiver.deliveries) == sent
    if off == "disabled":
        await changes.enable(workspace, made)
        await found()
        await pass_by(wire, db_clock, 300)
        assert await states() == {"delivered": 30}


@pytest.mark.parametrize("off", ["switch", "disabled"])
async def test_it_ends_there_though_something_waits_for_its_turn(off, workspace, bot, wire, receiver, db_clock):
    """It would go on when the endpoint is enabled again, without a probe, with what is too old by then."""
    made = await outage(workspace, bot, wire, receiver, db_clock, 30)
    receiver.answer = 204
    await found()
    await wire.turn()
    await db_clock.forward(15)
    await jobs.runner("auto_redrive").run_all()
    await db_clock.forward(1)
    assert 0 < await jobs.redrive() < 29, "they wait for their turn"
    if off == "switch":
        await changes.configure(workspace, made, EndpointChange(auto_redrive=False))
    else:
        await changes.disable(workspace, made)
    await db_clock.forward(1)
    assert await jobs.redrive() == 0
    (job,) = await redrives.listed(workspace)
    assert job.state == "finished"


async def test_after_it_was_enabled_again_a_probe_comes_first(workspace, bot, wire, receiver, db_clock):
    """A person has said that it is back; nothing has answered yet."""
    made = await outage(workspace, bot, wire, receiver, db_clock, 5)
    await changes.disable(workspace, made)
    await changes.enable(workspace, made)
    await found()
    await pass_by(wire, db_clock, 60)
    assert 1 <= len(receiver.deliveries) <= 4
    assert await redrives.listed(workspace) == []
    receiver.answer = 204
    await pass_by(wire, db_clock, 400)
    assert await states() == {"delivered": 5}


async def test_and_a_probe_of_before_has_told_nothing(workspace, bot, wire, receiver, db_clock):
    """Whoever enables it forgets its failures, between two looks of the job."""
    made = await outage(workspace, bot, wire, receiver, db_clock, 5)
    await found()
    await pass_by(wire, db_clock, 60)
    assert len(receiver.deliveries) > 1
    with clock.at(await db.value("SELECT now()")):
        await changes.disable(workspace, made)
        await changes.enable(workspace, made)
    await pass_by(wire, db_clock, 120)
    assert await redrives.listed(workspace) == []
    receiver.answer = 204
    await pass_by(wire, db_clock, 600)
    assert await states() == {"delivered": 5}


async def test_what_a_person_was_erased_of_is_not_sent(workspace, bot, wire, receiver, db_clock):
    made = await healing(workspace, receiver.url)
    receiver.answer = 503
    somebody = await make.somebody(workspace, bot)
    await people(workspace, bot, 2)
    await die(wire, db_clock)
    await erasure.erase_lead(workspace, somebody.id)
    receiver.answer = 204
    receiver.deliveries.clear()
    await found()
    await pass_by(wire, db_clock, 300)
    assert len(receiver.deliveries) == 2
    assert await states() == {"delivered": 2, "cancelled": 1}
    assert (await redrives.count(workspace, Selection(endpoint_id=made))) == 0


async def test_in_an_order_a_probe_holds_nothing_for_longer_than_its_attempt(workspace, bot, wire, receiver, db_clock):
    await outage(workspace, bot, wire, receiver, db_clock, 2, ordered=True)
    await found()
    await wire.turn()
    assert await states() == {"dead": 2}
    receiver.answer = 204
    await pass_by(wire, db_clock, 600)
    assert await states() == {"delivered": 2}


async def test_a_receiver_that_fetches_is_back_once_it_acknowledges(workspace, bot, wire, receiver, db_clock):
    puller = await puller_of(workspace, "lead.created", auto_redrive=True)
    await people(workspace, bot, 3)
    await wire.relay()
    for seconds in (0, 60, 300, 1800):
        await db_clock.forward(seconds)
        assert len(ids_of(await puller.fetch())) == 3
        await db_clock.forward(60)
        await pull.expire(wire.settings)
    assert await states() == {"dead": 3}
    await found()
    assert len(ids_of(batch := await puller.fetch())) == 1, "the probe"
    assert await puller.acknowledge(batch) == 1
    arrived = 1
    while arrived < 3:
        await pass_by(wire, db_clock, 5)
        if ids_of(batch := await puller.fetch()):
            arrived += await puller.acknowledge(batch)
    assert await states() == {"delivered": 3}
    assert await balanced(wire) == []


async def test_what_it_has_done_is_forgotten_with_the_attempts(workspace, bot, wire, receiver, db_clock):
    made = await outage(workspace, bot, wire, receiver, db_clock, 1)
    for state, days in (("finished", 32), ("finished", 29), ("cancelled", 32), ("running", 32)):
        job_id = await redrive_job.create(Criteria(workspace, "evt", "evu", made, died_since=clock.now()), 1)
        age = "updated_at = now() - $3 * interval '1 day'"
        await db.rows(f"UPDATE redrive_job SET state = $2, {age} WHERE id = $1", job_id, state, days)
    await jobs.run("redrive_job.delete")
    rows = await db.rows("SELECT state FROM redrive_job ORDER BY id")
    assert [row["state"] for row in rows] == ["finished", "cancelled", "running"]
