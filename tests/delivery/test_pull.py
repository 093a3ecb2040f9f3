"""Deliveries that their receiver fetches: none lost, none twice without a reason, whoever dies when."""

import asyncio
import contextlib
import contextvars
import json
from collections import Counter
from math import inf

import pytest

from leadwire.delivery import checkpoints, pull, streams
from leadwire.delivery.monitoring import ledger
from leadwire.delivery.worker import hourly_stats
from leadwire.domain.accounts import changes as accounts
from leadwire.domain.leads import changes as leads
from leadwire.domain.leads.schema import LeadPatch
from leadwire.domain.privacy import erasure
from leadwire.domain.webhooks import changes, receivers, redrives
from leadwire.domain.webhooks.receivers import Receiver
from leadwire.domain.webhooks.schema import EndpointChange
from leadwire.domain.workspaces import changes as workspaces
from leadwire.infrastructure import clock, db, settings
from leadwire.infrastructure.errors import Invalid, Unavailable
from leadwire_development import verifying
from tests import jobs
from tests.delivery.test_delivery import states
from tests.delivery.test_numbers import people
from tests.delivery.wired import endpoint, redriven


class Puller:
    """A receiver that fetches."""

    def __init__(self, made, workspace):
        self.id, self.secret = made.id, made.secret
        self.receiver = Receiver(made.id, workspace)

    async def fetch(self, most=100):
        return await receivers.fetch(self.receiver, most)

    async def acknowledge(self, batch, *events):
        """Acknowledge all of a batch, or these events, as often as it takes. Return how many count."""
        while True:
            with contextlib.suppress(Unavailable):  # another one had the endpoint's row for too long
                found = await receivers.acknowledge(self.receiver, batch.lease, events or ids_of(batch))
                return len(found.acknowledged)


async def puller_of(workspace, *events, **change) -> Puller:
    made = await endpoint(workspace, "pull:crm", *events)
    await changes.configure(workspace, made.id, EndpointChange(**change))
    await receivers.make_token(workspace, made.id)
    return Puller(made, workspace)


@pytest.fixture
async def puller(workspace):
    return await puller_of(workspace)


def ids_of(batch):
    return [one.headers["webhook-id"] for one in batch.deliveries]


def header(batch, name):
    return [one.headers.get(name) for one in batch.deliveries]


async def attempts():
    found = await db.rows("SELECT number, outcome, counted FROM attempt ORDER BY event_id, started_at")
    return [tuple(row) for row in found]


async def in_balance(redis):
    checks, _ = await ledger.check(redis, settings.get())
    assert {check.name: check.broken for check in checks if check.broken} == {}


async def test_a_delivery_is_handed_out_as_it_would_have_been_sent(workspace, bot, wire, receiver, redis, puller):
    await endpoint(workspace, receiver.url)
    await changes.configure(workspace, puller.id, EndpointChange(headers={"X-Gateway": "sesame"}))
    await people(workspace, bot, 1)
    await wire.turn()
    (sent,) = receiver.deliveries
    (handed,) = (await puller.fetch()).deliveries
    assert handed.body.encode() == sent.body
    names = {name.lower() for name in handed.headers}
    assert names - {"x-gateway"} == sent.headers.keys() - {"host", "accept", "accept-encoding", "content-length"}
    assert (handed.headers["webhook-id"], handed.headers["X-Gateway"]) == (sent.webhook_id, "sesame")
    now = int(clock.now().timestamp())
    verifying.verify(handed.body.encode(), handed.headers, puller.secret, now=now)
    assert sum([await redis.xlen(name) for name in streams.names(settings.get().stream_shards)]) == 0
    await in_balance(redis)


async def test_what_is_acknowledged_is_delivered_once(workspace, bot, wire, puller, redis):
    await people(workspace, bot, 3)
    await wire.relay()
    batch = await puller.fetch()
    assert (await puller.fetch()).deliveries == []
    assert await states() == {"queued": 3}
    assert await puller.acknowledge(batch, ids_of(batch)[0]) == 1
    assert await puller.acknowledge(batch) == 3
    assert await puller.acknowledge(batch) == 3, "to acknowledge again changes nothing"
    assert await states() == {"delivered": 3}
    assert await attempts() == [(1, "delivered", True)] * 3
    assert await pull.expire(settings.get()) == 0
    await in_balance(redis)


async def test_what_is_not_acknowledged_in_time_is_retried_and_at_last_dead(
    workspace, bot, wire, puller, redis, db_clock
):
    """The receiver was killed each time after it had fetched."""
    await people(workspace, bot, 1)
    await wire.relay()
    for number, wait in enumerate((60, 300, 1800), 1):
        batch = await puller.fetch()
        assert header(batch, "X-Service-Attempt") == [str(number)]
        await db_clock.forward(29)
        assert await pull.expire(settings.get()) == 0
        await db_clock.forward(2)
        assert await pull.expire(settings.get()) == 1
        await db_clock.forward(wait - 2)
        assert (await puller.fetch()).deliveries == []
        await db_clock.forward(3)
    await puller.fetch()
    await db_clock.forward(31)
    assert await pull.expire(settings.get()) == 1
    assert await states() == {"dead": 1}
    assert await attempts() == [(number, "timeout", True) for number in (1, 2, 3, 4)]
    await in_balance(redis)
    event_id = await db.value("SELECT event_id FROM delivery_result")
    assert await redriven(workspace, event_id) == 1
    batch = await puller.fetch()
    assert (header(batch, "X-Service-Attempt"), await puller.acknowledge(batch)) == (["1"], 1)
    assert await states() == {"delivered": 1}
    await in_balance(redis)


@pytest.mark.parametrize("recorded", [False, True], ids=["before it is recorded", "after it is recorded"])
async def test_an_acknowledgement_after_the_lease_does_not_count(workspace, bot, wire, puller, db_clock, recorded):
    await people(workspace, bot, 1)
    await wire.relay()
    batch = await puller.fetch()
    await db_clock.forward(31)
    if recorded:
        await pull.expire(settings.get())
    assert await puller.acknowledge(batch) == 0
    await pull.expire(settings.get())
    await db_clock.forward(61)
    again = await puller.fetch()
    assert ids_of(again) == ids_of(batch)
    assert await puller.acknowledge(batch) == 0, "the first lease is none of the second"
    assert await puller.acknowledge(again) == 1
    assert await puller.acknowledge(batch) == 1, "it has arrived, whoever says so"
    assert await attempts() == [(1, "timeout", True), (2, "delivered", True)]


async def test_a_lease_is_of_one_endpoint(workspace, bot, wire, puller):
    """Neither the same workspace nor another one may acknowledge for it."""
    elsewhere = await accounts.create_workspace("Other")
    others = [await puller_of(owner) for owner in (workspace, elsewhere)]
    await changes.disable(workspace, others[0].id)
    await people(workspace, bot, 1)
    await wire.relay()
    batch = await puller.fetch()
    for other in (*others, Puller(await changes.create(elsewhere, "pull:x", ["lead.created"]), workspace)):
        assert (await other.fetch()).deliveries == []
        assert await other.acknowledge(batch) == 0
    assert await puller.acknowledge(batch, "evt_unknown", "") == 0
    assert await states() == {"queued": 1}
    assert await puller.acknowledge(batch) == 1


async def test_two_pullers_at_once_share_what_there_is(workspace, bot, wire, puller):
    await people(workspace, bot, 30)
    await wire.relay()
    batches = await asyncio.gather(*(puller.fetch(10) for _ in range(5)))
    while more := (await puller.fetch(10)).deliveries:  # what a lock hid from all of them
        batches.append(receivers.Batch("", 0, more))
    counted = Counter(event for batch in batches for event in ids_of(batch))
    assert len(counted) == 30
    assert set(counted.values()) == {1}


async def test_two_acknowledgements_at_once_count_once(workspace, bot, wire, puller):
    await people(workspace, bot, 5)
    await wire.relay()
    batch = await puller.fetch()
    assert await asyncio.gather(*(puller.acknowledge(batch) for _ in range(4))) == [5] * 4
    assert [one for one in await attempts() if one[2]] == [(1, "delivered", True)] * 5
    assert await states() == {"delivered": 5}


async def test_an_acknowledgement_and_the_end_of_its_lease_leave_one_outcome(workspace, bot, wire, puller, db_clock):
    await people(workspace, bot, 1)
    await wire.relay()
    batch = await puller.fetch()
    held = await pull._HELD.rows(**_of(puller), events=ids_of(batch), lease=batch.lease)
    await db_clock.forward(31)
    await pull.expire(settings.get())
    late = [pull._attempt(row, "delivered", settings.get()) for row in held]
    await pull._record(late, batch.lease)
    assert await states() == {"waiting": 1}
    assert [one for one in await attempts() if one[2]] == [(1, "timeout", True)]


def _of(puller):
    return {"endpoint_id": puller.receiver.endpoint_id, "workspace": puller.receiver.workspace}


async def test_order_holds(workspace, bot, wire, db_clock):
    """The next event of a lead comes when the one before is acknowledged, also after a lease that ended."""
    puller = await puller_of(workspace, "lead.updated", ordered=True)
    (lead,) = await people(workspace, bot, 1)
    for name in ("Rosa", "Grace", "Mary"):
        await leads.update(workspace, lead.id, LeadPatch(name=name), unchanged={})
    await wire.relay()
    seen = []
    for number in range(4):
        batch = await puller.fetch()
        (one,) = batch.deliveries
        seen.append(json.loads(one.body)["data"]["name"])
        if number == 0:
            await db_clock.forward(31)
            await pull.expire(settings.get())
            assert (await puller.fetch()).deliveries == []
            await db_clock.forward(61)
        else:
            assert await puller.acknowledge(batch) == 1
    assert seen == ["Rosa", "Rosa", "Grace", "Mary"]
    assert (await puller.fetch()).deliveries == []


async def test_numbers_hold(workspace, bot, wire, db_clock):
    puller = await puller_of(workspace, numbered=True)
    await people(workspace, bot, 3)
    await wire.relay()
    first, rest = await puller.fetch(1), await puller.fetch()
    assert header(first, "X-Service-Sequence") + header(rest, "X-Service-Sequence") == ["1", "2", "3"]
    await puller.acknowledge(rest)
    found = await checkpoints.read(workspace, puller.id, 0)
    assert (found.open, found.count, found.last) == ([(1, 1)], 2, 3)
    await db_clock.forward(31)
    await pull.expire(settings.get())
    await db_clock.forward(61)
    again = await puller.fetch()
    assert header(again, "X-Service-Sequence") == ["1"]
    assert await puller.acknowledge(again) == 1
    assert (await receivers.redrive(puller.receiver, redrives.Selection(numbers=(2, 2)))).done == 1
    assert header(await puller.fetch(), "X-Service-Sequence") == ["2"]


async def test_a_disabled_endpoint_hands_out_tests_alone(workspace, bot, wire, puller, db_clock):
    await people(workspace, bot, 1)
    await wire.relay()
    await changes.disable(workspace, puller.id)
    event_id = await changes.send_test(workspace, puller.id)
    await wire.turn()
    batch = await puller.fetch()
    assert (ids_of(batch), header(batch, "X-Service-Test")) == ([event_id], ["true"])
    await db_clock.forward(31)
    await pull.expire(settings.get())
    assert await states() == {"waiting": 1, "dead": 1}, "a test is tried once"
    await changes.enable(workspace, puller.id)
    assert len((await puller.fetch()).deliveries) == 1


async def test_a_suspended_workspace_hands_out_nothing_and_takes_what_has_arrived(workspace, bot, wire, puller, redis):
    await people(workspace, bot, 2)
    await wire.relay()
    before = await puller.fetch(1)
    await workspaces.suspend(workspace)
    await people(workspace, bot, 1)
    await wire.relay()
    assert (await puller.fetch()).deliveries == []
    assert await pull.until_due(puller.id, workspace) == inf
    assert await puller.acknowledge(before) == 1
    assert await states() == {"delivered": 1, "waiting": 2}
    await workspaces.resume(workspace)
    await wire.relay()
    assert len((await puller.fetch()).deliveries) == 2
    await in_balance(redis)


async def test_an_endpoint_may_change_its_way_at_any_time(workspace, bot, wire, receiver, db_clock):
    """What is in a stream is not sent any more; what is handed out may still be acknowledged, or else is sent."""
    made = await endpoint(workspace, receiver.url)
    puller = Puller(made, workspace)
    await receivers.make_token(workspace, made.id)
    await people(workspace, bot, 3)
    await wire.relay()
    await changes.configure(workspace, made.id, EndpointChange(url="pull:crm"))
    await wire.turn()
    assert receiver.deliveries == []
    batch = await puller.fetch(2)
    await changes.configure(workspace, made.id, EndpointChange(url=receiver.url))
    assert await puller.acknowledge(batch, ids_of(batch)[0]) == 1
    assert (await puller.fetch()).deliveries == []
    await wire.turn()
    assert len(receiver.deliveries) == 1
    await db_clock.forward(31)
    assert await wire.reconcile() == 0, "the end of the lease is recorded first"
    assert await pull.expire(settings.get()) == 1
    await db_clock.forward(61)
    await wire.turn()
    assert sorted(one.attempt for one in receiver.deliveries) == [1, 2]
    assert {one.webhook_id for one in receiver.deliveries}.isdisjoint({ids_of(batch)[0]})
    assert await states() == {"delivered": 3}


async def test_a_removed_endpoint_leaves_nothing_open(workspace, bot, wire, puller):
    await people(workspace, bot, 2)
    await wire.relay()
    batch = await puller.fetch(1)
    await changes.delete(workspace, puller.id)
    assert await puller.acknowledge(batch) == 1, "it has arrived"
    await wire.relay()
    assert await states() == {"delivered": 1, "cancelled": 1}


async def test_what_was_handed_out_before_its_endpoint_was_removed_is_canceled(
    workspace, bot, wire, puller, redis, db_clock
):
    await people(workspace, bot, 1)
    await wire.relay()
    await puller.fetch()
    await changes.delete(workspace, puller.id)
    await db_clock.forward(120)
    assert await wire.reconcile() == 1
    await wire.turn()
    assert await states() == {"cancelled": 1}


async def test_a_person_who_is_erased_is_not_handed_out(workspace, bot, wire, puller):
    first, second = await people(workspace, bot, 2)
    await wire.relay()
    batch = await puller.fetch(1)
    await erasure.erase_lead(workspace, first.id)
    await erasure.erase_lead(workspace, second.id)
    assert await puller.acknowledge(batch) == 0
    assert (await puller.fetch()).deliveries == []
    assert await states() == {"cancelled": 2}


async def test_no_more_is_handed_out_than_a_window_holds(workspace, bot, wire, puller, monkeypatch):
    monkeypatch.setattr(pull, "LARGEST_WINDOW", 3)
    await people(workspace, bot, 5)
    await wire.relay()
    batch = await puller.fetch(2)
    assert len((await puller.fetch()).deliveries) == 1
    assert (await puller.fetch()).deliveries == []
    await changes.send_test(workspace, puller.id)
    await wire.relay()
    assert await pull.until_due(puller.id, workspace) == inf, "who waits is not answered again and again"
    await puller.acknowledge(batch)
    assert await pull.until_due(puller.id, workspace) <= 0
    assert len((await puller.fetch()).deliveries) == 2


async def test_the_relay_leaves_it_alone_and_others_get_theirs(workspace, bot, wire, receiver, puller):
    await endpoint(workspace, receiver.url)
    for _ in range(2):
        await people(workspace, bot, 1)
        await wire.turn()
    assert len(receiver.deliveries) == 2
    found = await db.row("SELECT open, due_at = 'infinity' FROM webhook_endpoint WHERE id = $1", puller.id)
    assert tuple(found) == (False, True)
    assert len((await puller.fetch()).deliveries) == 2


async def test_a_replay_of_a_time_is_fetched_too(workspace, bot, wire, puller):
    await people(workspace, bot, 1)
    await wire.relay()
    await puller.acknowledge(await puller.fetch())
    await redrives.start(workspace, redrives.Selection(endpoint_id=puller.id, replay=True), 1000)
    assert await jobs.redrive() == 1
    assert len((await puller.fetch()).deliveries) == 1


async def test_an_unreadable_secret_hands_out_nothing(workspace, bot, wire, puller):
    await people(workspace, bot, 1)
    await wire.relay()
    secret = await db.value("SELECT secret FROM webhook_endpoint")
    await db.rows("UPDATE webhook_endpoint SET secret = 'x'::bytea || substring(secret FROM 2)")
    with pytest.raises(Unavailable):
        await puller.fetch()
    assert await states() == {"waiting": 1}
    await db.rows("UPDATE webhook_endpoint SET secret = $1", secret)
    assert len((await puller.fetch()).deliveries) == 1


@pytest.mark.parametrize("name", ["", "CRM", "a b", "a/b", "-a", "a" * 101, "ü", "a\n", "//a.example"])
async def test_a_name_that_is_none_is_refused(workspace, name):
    with pytest.raises(Invalid, match="letters"):
        await changes.create(workspace, f"pull:{name}", ["lead.created"])


async def test_a_puller_that_others_are_changing_is_told_to_come_again(workspace, bot, wire, puller):
    await people(workspace, bot, 1)
    await wire.relay()
    batch = await puller.fetch()
    async with db.transaction():
        await db.rows("SELECT 1 FROM webhook_endpoint WHERE id = $1 FOR UPDATE", puller.id)
        work = receivers.acknowledge(puller.receiver, batch.lease, ids_of(batch))
        with pytest.raises(Unavailable):
            await asyncio.create_task(work, context=contextvars.Context())
    assert await puller.acknowledge(batch) == 1


async def test_nothing_is_handed_out_while_its_endpoint_is_being_removed(workspace, bot, wire, db_clock):
    """It stays, and what it was not given a number for is no failed attempt."""
    puller = await puller_of(workspace, numbered=True)
    await people(workspace, bot, 2)
    await wire.relay()
    async with db.transaction():
        await db.rows("SELECT 1 FROM webhook_endpoint WHERE id = $1 FOR UPDATE", puller.id)
        with pytest.raises(Unavailable):
            await asyncio.create_task(puller.fetch(), context=contextvars.Context())
    await db_clock.forward(31)
    assert await pull.expire(settings.get()) == 0
    batch = await puller.fetch()
    assert header(batch, "X-Service-Attempt") + header(batch, "X-Service-Sequence") == ["1", "1", "1", "2"]


async def test_it_is_counted_in_the_plots_and_the_health(workspace, bot, wire, puller, db_clock):
    await people(workspace, bot, 2)
    await wire.relay()
    batch = await puller.fetch()
    await puller.acknowledge(batch, ids_of(batch)[0])
    await db_clock.forward(31)
    await pull.expire(settings.get())
    found = await db.row("SELECT failures, failing_since IS NULL FROM webhook_endpoint WHERE id = $1", puller.id)
    assert tuple(found) == (1, False)
    await hourly_stats.flush()
    assert [tuple(row) for row in await db.rows("SELECT delivered, failed FROM endpoint_hour")] == [(1, 1)]
