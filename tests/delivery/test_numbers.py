"""Numbers of an endpoint's deliveries: none missing, none twice, and the same each time that one is sent."""

import asyncio
import contextvars

import pytest
from msgspec import structs

from leadwire.delivery.streams import Key
from leadwire.delivery.worker import number as numbering
from leadwire.delivery.worker.claim import claim
from leadwire.delivery.worker.loop import Deliverer
from leadwire.delivery.worker.number import number
from leadwire.delivery.worker.observe import Liveness
from leadwire.domain.privacy import erasure
from leadwire.domain.webhooks import changes, reads, redrives
from leadwire.domain.webhooks.redrives import Selection
from leadwire.domain.webhooks.schema import EndpointChange
from leadwire.infrastructure import clock, db, ids
from leadwire.infrastructure.errors import Invalid, NotFound
from tests import jobs, make
from tests.delivery.wired import endpoint, redriven
from tests.waiting import eventually


async def numbered(workspace, receiver, *events: str) -> str:
    made = await endpoint(workspace, receiver.url, *events)
    await changes.configure(workspace, made.id, EndpointChange(numbered=True))
    return made.id


async def people(workspace, bot, count: int):
    return [await make.lead(workspace, bot, email=f"{ids.new('x')}@example.com") for _ in range(count)]


def arrived(receiver) -> list[int]:
    return [int(one.headers["x-service-sequence"]) for one in receiver.deliveries]


async def kept() -> dict[str, int]:
    found = await db.rows("SELECT event_id, sequence FROM every_delivery")
    return {row["event_id"]: row["sequence"] for row in found}


async def test_deliveries_are_numbered_from_one_in_the_order_of_events(workspace, bot, wire, receiver):
    await numbered(workspace, receiver)
    for count in (3, 1, 2):
        await people(workspace, bot, count)
        await wire.turn()
    told = sorted((one.webhook_id, int(one.headers["x-service-sequence"])) for one in receiver.deliveries)
    assert [sequence for _, sequence in told] == [1, 2, 3, 4, 5, 6]
    assert sorted((await kept()).items()) == told


async def test_other_endpoints_and_tests_have_no_number(workspace, bot, wire, receiver):
    plain = await endpoint(workspace, receiver.url)
    made = await numbered(workspace, receiver)
    await changes.send_test(workspace, made)
    await people(workspace, bot, 1)
    await wire.turn()
    having = [one for one in receiver.deliveries if "x-service-sequence" in one.headers]
    assert len(receiver.deliveries) == 3
    assert [one.headers["x-service-sequence"] for one in having] == ["1"]
    assert "x-service-test" not in having[0].headers
    assert await db.value("SELECT count(sequence) FROM every_delivery WHERE endpoint_id = $1", plain.id) == 0


async def test_a_retry_keeps_its_number(workspace, bot, wire, receiver, db_clock):
    await numbered(workspace, receiver)
    receiver.answer = 500
    await people(workspace, bot, 1)
    await wire.turn()
    await people(workspace, bot, 1)
    await wire.turn()
    receiver.answer = 204
    await db_clock.forward(60)
    await wire.turn()
    told = sorted((one.webhook_id, one.attempt, one.headers["x-service-sequence"]) for one in receiver.deliveries)
    assert [tuple(more) for _, *more in told] == [(1, "1"), (2, "1"), (1, "2"), (2, "2")]


async def test_two_workers_at_once_leave_no_gap(workspace, bot, wire, receiver, redis):
    await numbered(workspace, receiver)
    await people(workspace, bot, 60)
    await wire.relay()
    entries = await wire.read()
    assert len(entries) == 60

    async def take(worker: int) -> list[int]:
        found = []
        for at in range(worker * 5, 60, 20):
            jobs, _, _ = await claim(entries[at : at + 5], f"w{worker}", 60)
            found += (await number([job.entry.key for job in jobs], f"w{worker}")).values()
        return found

    taken = await asyncio.gather(*map(take, range(4)))
    assert sorted(n for one in taken for n in one) == list(range(1, 61))
    assert sorted((await kept()).values()) == list(range(1, 61))


async def test_what_changes_between_lock_and_number_makes_no_hole(workspace, bot, wire, receiver, monkeypatch):
    """An erasure waits for the numbers; what it has locked before gets none, and is not sent."""
    await numbered(workspace, receiver)
    erased, *_ = await people(workspace, bot, 3)
    await wire.relay()
    jobs, _, _ = await claim(await wire.read(), "test", 60)
    keys = sorted(job.entry.key for job in jobs)
    async with db.transaction():
        await erasure.erase_lead(workspace, erased.id)
        found = await asyncio.create_task(number(keys, "test"), context=contextvars.Context())
    assert sorted(found.values()) == [1, 2]
    assert set(found) == {key[:2] for key in keys[1:]}


async def test_a_crash_between_claim_and_number_costs_none(workspace, bot, wire, receiver, db_clock):
    await numbered(workspace, receiver)
    await people(workspace, bot, 2)
    await wire.relay()
    entries = await wire.read()
    jobs, _, _ = await claim(entries, "crashed", 60)
    assert {job.sequence for job in jobs} == {None}
    await db_clock.forward(61)
    jobs, _, _ = await claim(entries, "next", 60, {"crashed"})
    assert len(jobs) == 2
    keys = [job.entry.key for job in jobs]
    assert await number(keys, "crashed") == {}, "it woke up: another worker has them"
    assert sorted((await number(keys, "next")).values()) == [1, 2]


async def test_numbers_whose_commit_was_not_heard_of_are_not_taken_again(workspace, bot, wire, receiver, db_clock):
    await numbered(workspace, receiver)
    await people(workspace, bot, 2)
    await wire.relay()
    entries = await wire.read()
    jobs, _, _ = await claim(entries, "test", 60)
    keys = [job.entry.key for job in jobs]
    assert await number(keys, "test") == await number(keys, "test")
    await db_clock.forward(61)
    jobs, _, _ = await claim(entries, "next", 60, {"test"})
    assert sorted(job.sequence for job in jobs) == [1, 2]


async def test_a_number_is_undone_with_its_transaction(workspace, bot, wire, receiver, monkeypatch):
    await numbered(workspace, receiver)
    await people(workspace, bot, 2)
    await wire.relay()
    jobs, _, _ = await claim(await wire.read(), "test", 60)
    keys = [job.entry.key for job in jobs]
    with monkeypatch.context() as patched:
        patched.setattr(numbering._NUMBER, "text", f"{numbering._NUMBER.text}, 1 / (d.attempts - d.attempts)")
        with pytest.raises(Exception, match="division by zero"):
            await number(keys, "test")
    assert set((await kept()).values()) == {None}
    assert sorted((await number(keys, "test")).values()) == [1, 2]


async def numbers_again(workspace: str, made: str, first: int, last: int) -> int:
    return (await redrives.start(workspace, Selection(endpoint_id=made, numbers=(first, last)))).done


async def test_a_hole_is_found_and_sent_again_with_its_number(workspace, bot, wire, receiver):
    made = await numbered(workspace, receiver)
    receiver.answer = lambda one: 410 if one.headers["x-service-sequence"] == "2" else 204
    await people(workspace, bot, 4)
    await wire.turn()
    receiver.answer = 204
    await changes.enable(workspace, made)
    (event_id,) = await reads.events_of_numbers(workspace, made, 2, 2)
    (found,) = await reads.deliveries_of(workspace, event_id, made)
    assert (found.sequence, found.state) == (2, "dead")
    receiver.deliveries.clear()
    assert await numbers_again(workspace, made, 2, 3) == 2, "a delivered one too"
    assert await numbers_again(workspace, made, 2, 3) == 0, "they wait"
    await wire.turn()
    assert sorted(arrived(receiver)) == [2, 3]
    await people(workspace, bot, 1)
    await wire.turn()
    assert arrived(receiver)[-1] == 5
    for first, last, error in ((9, 9, NotFound), (3, 2, Invalid), (1, 1001, Invalid)):
        with pytest.raises(error):
            await numbers_again(workspace, made, first, last)
    with pytest.raises(NotFound):
        await numbers_again("ws_other", made, 2, 3)


async def test_a_redrive_keeps_numbers_and_a_replay_gives_new_ones_to_what_had_none(workspace, bot, wire, receiver):
    made = await numbered(workspace, receiver)
    await changes.disable(workspace, made)
    await people(workspace, bot, 2)
    await wire.turn()
    await changes.enable(workspace, made)
    receiver.answer = 410
    await people(workspace, bot, 1)
    await wire.turn()
    receiver.answer = 204
    await changes.enable(workspace, made)
    await redriven(workspace, receiver.deliveries[0].webhook_id)
    await wire.turn()
    assert arrived(receiver) == [1, 1]
    await redrives.start(workspace, Selection(endpoint_id=made, replay=True), 1000)
    assert await jobs.redrive() == 3
    await wire.turn()
    assert sorted(arrived(receiver)[2:]) == [1, 2, 3]


async def test_what_is_erased_or_canceled_keeps_its_number(workspace, bot, wire, receiver):
    made = await numbered(workspace, receiver)
    receiver.answer = 500
    one, _ = await people(workspace, bot, 2)
    await wire.turn()
    await erasure.erase_lead(workspace, one.id)
    (event_id,) = await reads.events_of_numbers(workspace, made, 1, 1)
    (found,) = await reads.deliveries_of(workspace, event_id, made)
    assert (found.state, found.body) == ("cancelled", "")
    assert await numbers_again(workspace, made, 1, 2) == 0
    await changes.delete(workspace, made)
    assert await db.value("SELECT count(*) FROM endpoint_sequence") == 0


async def test_a_switch_there_and_back_goes_on_where_it_was(workspace, bot, wire, receiver):
    made = await numbered(workspace, receiver)
    for on in (True, False, True):
        await changes.configure(workspace, made, EndpointChange(numbered=on))
        await people(workspace, bot, 1)
        await wire.turn()
    assert [one.headers.get("x-service-sequence") for one in receiver.deliveries] == ["1", None, "2"]


async def test_a_worker_that_waits_for_the_database_to_number_is_not_stuck(monkeypatch):
    async def refused(*_):
        raise ConnectionRefusedError

    monkeypatch.setattr(numbering, "number", refused)
    liveness, stop = Liveness(5.0), asyncio.Event()
    task = asyncio.create_task(numbering.Numbering("test", liveness).of(Key("evt_1", "we_1", 0), stop))
    for _ in range(2):
        liveness.moved = float("-inf")
        await eventually(lambda: liveness.stuck(1, 0) is None)
    stop.set()
    assert await task is None


async def test_other_endpoints_do_not_wait_for_numbers(workspace, bot, wire, receiver, redis):
    """Two workers as they run, while somebody holds the numbered endpoint's row."""
    made = await numbered(workspace, receiver)
    plain = await endpoint(workspace, receiver.url)
    await people(workspace, bot, 1)
    await wire.turn()
    await people(workspace, bot, 40)
    await wire.relay()
    stop = asyncio.Event()
    workers = [Deliverer(redis, wire.transport, wire.settings) for _ in range(2)]
    tasks = [asyncio.create_task(one.run(stop)) for one in workers]
    count = "SELECT count(*) = 41 FROM delivery_result WHERE endpoint_id = $1"
    try:
        async with db.transaction():
            await db.rows("SELECT 1 FROM endpoint_sequence FOR UPDATE")
            await eventually(lambda: db.value(count, plain.id))
            assert not await db.value(count, made)
        await eventually(lambda: db.value(count, made))
    finally:
        stop.set()
        await asyncio.gather(*tasks)
    numbers = [one.headers.get("x-service-sequence") for one in receiver.deliveries]
    assert sorted(int(one) for one in numbers if one) == list(range(1, 42))
    assert numbers.count(None) == 41


async def test_what_is_named_is_restricted_by_all_else_that_is_asked_for(workspace, bot, wire, receiver):
    """Else more were sent than somebody has asked for."""
    made = await numbered(workspace, receiver, "lead.created", "conversation.started")
    await people(workspace, bot, 2)
    await wire.turn()
    by_kind = Selection(endpoint_id=made, numbers=(1, 4), kinds=["lead.created"])
    assert await redrives.count(workspace, structs.replace(by_kind, kinds=())) == 4
    assert await redrives.count(workspace, by_kind) == 2
    first = await db.value("SELECT id FROM event WHERE kind = 'lead.created' ORDER BY id LIMIT 1")
    one = Selection(endpoint_id=made, event_id=first, replay=True)
    assert await redrives.count(workspace, one) == 1
    assert await redrives.count(workspace, structs.replace(one, kinds=["conversation.started"])) == 0
    for more, field in (({"outcomes": ["timeout"]}, "/outcomes"), ({"since": clock.now()}, "/since")):
        for selection in (by_kind, one):
            with pytest.raises(Invalid) as refused:
                await redrives.start(workspace, structs.replace(selection, **more))
            assert [fault.pointer for fault in refused.value.errors] == [field]
