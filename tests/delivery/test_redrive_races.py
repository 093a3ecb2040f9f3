"""Sending again while the endpoint is removed or the person is erased: nothing is left that waits for nobody."""

import contextlib
from functools import partial

import pytest

from leadwire.delivery import erase
from leadwire.domain.privacy import erasure
from leadwire.domain.webhooks import changes, redrives
from leadwire.domain.webhooks.redrives import Selection
from leadwire.infrastructure import clock, db
from leadwire.infrastructure.errors import DomainError
from tests import jobs, make
from tests.delivery.interleaved import Held, apart, ended_or_blocked, overlapped
from tests.delivery.test_delivery import broken, states
from tests.delivery.test_pull import ids_of, puller_of
from tests.delivery.test_redrives import dead
from tests.delivery.wired import endpoint, redriven, resend


@pytest.fixture
def again(workspace):
    """The ways to send something again to an endpoint."""

    async def one_event(endpoint_id: str) -> None:
        await redriven(workspace, await db.value("SELECT event_id FROM every_delivery LIMIT 1"), endpoint_id)

    async def job(_endpoint_id: str) -> None:
        await jobs.redrive()

    return {"one": one_event, "redrive": job, "replay": job}


@pytest.mark.parametrize("how", ["one", "redrive", "replay"])
async def test_nothing_waits_for_an_endpoint_that_is_deleted_meanwhile(workspace, bot, wire, receiver, again, how):
    """The deletion is under way, and what it cancels is found, when the redrive comes; or the other way round."""
    endpoint_id = await dead(workspace, bot, wire, receiver, 2)
    if how != "one":
        await redrives.start(workspace, Selection(endpoint_id=endpoint_id, replay=how == "replay"), 1000)
    with contextlib.suppress(DomainError):
        await overlapped(partial(changes.delete, workspace, endpoint_id), partial(again[how], endpoint_id))
    assert await states() == {"dead": 2}


@pytest.mark.parametrize("how", ["one", "redrive", "replay"])
async def test_a_deletion_waits_for_what_is_sent_again(workspace, bot, wire, receiver, again, how):
    endpoint_id = await dead(workspace, bot, wire, receiver, 1)
    if how != "one":
        await redrives.start(workspace, Selection(endpoint_id=endpoint_id, replay=how == "replay"), 1000)
    await overlapped(partial(again[how], endpoint_id), partial(changes.delete, workspace, endpoint_id))
    await wire.relay()
    assert await states() == {"cancelled": 1}


@pytest.mark.parametrize("first", ["replay", "erasure"])
async def test_a_replay_and_an_erasure_at_the_same_time_leave_nothing_to_send(workspace, bot, wire, receiver, first):
    """Neither sees what the other has not committed yet."""
    lead = await make.lead(workspace, bot)
    await wire.relay()
    made = await endpoint(workspace, receiver.url)
    job = await redrives.start(workspace, Selection(endpoint_id=made.id, replay=True), 1000)
    moves = [jobs.redrive, partial(erasure.erase_lead, workspace, lead.id)]
    if first == "erasure":
        moves.reverse()
    await overlapped(*moves)
    assert not (await states()).keys() & {"waiting", "queued"}
    assert (await redrives.one(workspace, job.id)).done == (first == "replay")


async def test_a_replay_that_meets_an_outcome_sends_it_again(workspace, bot, wire, receiver):
    """The record is not committed when the replay looks at what has ended."""
    made = await endpoint(workspace, receiver.url)
    await make.somebody(workspace, bot)
    await wire.relay()
    done = await wire.post(await wire.claim())
    await redrives.start(workspace, Selection(endpoint_id=made.id, replay=True), 1000)
    await overlapped(partial(wire.settle, done), jobs.redrive)
    assert [tuple(row) for row in await db.rows("SELECT state, generation FROM every_delivery")] == [("waiting", 2)]
    await wire.turn()
    assert [one.webhook_id for one in receiver.deliveries] == [done[0].job.entry.key.event_id] * 2
    assert await broken(wire) == []


@pytest.mark.parametrize("reached", ["chosen", "locked"])
async def test_what_is_sent_again_while_contents_go_is_not_empty(workspace, bot, wire, monkeypatch, reached):
    """A receiver that fetches would be handed a delivery without a body, which no worker looks at before."""
    puller = await puller_of(workspace)
    await make.somebody(workspace, bot)
    await wire.relay()
    batch = await puller.fetch()
    assert await puller.acknowledge(batch) == 1
    if reached == "chosen":
        monkeypatch.setattr(erase, "_LOCK_OLD", held := Held(erase._LOCK_OLD))
    else:
        monkeypatch.setattr(erase, "_BLANK_OLD", [held := Held(erase._BLANK_OLD[0]), *erase._BLANK_OLD[1:]])
    sweeping = apart(erase.blank_events(workspace, clock.ago(days=1), clock.ago(days=-1)))
    await held.reached.wait()
    resending = apart(resend(workspace, *ids_of(batch), puller.id))
    await ended_or_blocked(resending)
    held.go.set()
    await sweeping
    await resending
    again = await puller.fetch()
    assert [one.body for one in again.deliveries] == ([batch.deliveries[0].body] if reached == "chosen" else [])
    assert await broken(wire) == []
