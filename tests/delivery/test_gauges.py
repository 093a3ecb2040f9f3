"""What the observer shows is how it stands, and looking costs the same however much is finished."""

import asyncio
import contextvars
import inspect
import json
import re

import pytest

from leadwire.delivery import streams
from leadwire.delivery.monitoring import gauges, holders, observer, status
from leadwire.delivery.monitoring.conditions import CONDITIONS
from leadwire.delivery.monitoring.observer import Observer
from leadwire.domain.webhooks import changes as webhooks
from leadwire.domain.workspaces import changes as workspaces
from leadwire.infrastructure import db, settings
from leadwire.infrastructure.db.statements import sql
from tests import catalog, make
from tests.delivery.wired import endpoint
from tests.waiting import eventually

OF_ENDPOINTS = "webhook_endpoint"


def shown(gauge):
    """The value of a gauge without labels, or all of them by label."""
    values = {labels[0] if labels else None: value for labels, value in gauge._shown.items()}
    return values.get(None, values)


@pytest.fixture
def look(redis):
    return lambda: gauges.update(redis, settings.get().stream_shards, settings.get().lease)


async def test_an_event_is_seen_at_every_place_it_comes_to(wire, workspace, bot, receiver, look):
    await endpoint(workspace, receiver.url, "lead.created")
    await make.lead(workspace, bot)
    await look()
    assert shown(gauges.UNRELAYED) >= 1
    assert shown(gauges.UNRELAYED_OLDEST) >= 0
    assert shown(gauges.QUEUED) == 0

    await wire.relay()
    await look()
    assert shown(gauges.UNRELAYED) == 0
    assert shown(gauges.QUEUED) == 1
    assert sum(shown(gauges.LENGTH).values()) == sum(shown(gauges.LAG).values()) == 1
    assert sum(shown(gauges.PENDING).values()) == 0

    jobs = await wire.claim()
    await look()
    assert sum(shown(gauges.LAG).values()) == 0
    assert sum(shown(gauges.PENDING).values()) == 1
    assert shown(gauges.WORKERS) == 1

    await wire.settle(await wire.post(jobs))
    await look()
    assert shown(gauges.QUEUED) == sum(shown(gauges.LENGTH).values()) == 0
    assert shown(gauges.REDIS_UP) == 1


async def test_a_worker_that_is_silent_is_told_apart(wire, redis, workspace, monkeypatch):
    async def workers():
        now = await status.read(redis, settings.get().stream_shards, finished=False)
        return [[one.name for one in some] for some in (now.workers, now.silent_workers)]

    await wire.read()
    assert await workers() == [[wire.consumer], []]
    monkeypatch.setattr(status, "ALIVE", 0.0)
    assert await workers() == [[], [wire.consumer]]


async def test_a_worker_that_died_is_no_condition_before_its_lease_has_ended(redis, workspace, monkeypatch):
    """LEADWIRE_LEASE may be longer than the time after which somebody is called."""
    true = streams.states

    async def silent(*given):
        return [state._replace(held=280.0) for state in await true(*given)]

    monkeypatch.setattr(streams, "states", silent)
    overdue = {}
    for lease in (60, 240):
        await gauges.update(redis, 1, lease)
        (condition,) = [one for one in CONDITIONS if one.name == "EntriesHeld"]
        overdue[lease] = condition.values()
    assert overdue == {60: {"": 220.0}, 240: {}}


async def test_how_long_a_transaction_that_has_recorded_an_event_is_open(workspace, bot, look):
    async def shown_outside():
        await asyncio.create_task(look(), context=contextvars.Context())
        return shown(holders.RECORDING)

    assert await shown_outside() == 0
    async with db.transaction():
        await db.rows("SELECT pg_current_xact_id()")
        assert await shown_outside() == 0
        await make.lead(workspace, bot)
        assert await shown_outside() > 0


async def test_overdue_says_whether_the_endpoint_holds_it_or_nothing_does(
    wire, workspace, bot, receiver, db_clock, look
):
    receiver.answer = 500
    made = await endpoint(workspace, receiver.url, "lead.created")
    await make.lead(workspace, bot)
    await wire.turn()
    await look()
    assert shown(gauges.WAITING) == 1
    assert shown(gauges.OVERDUE) == {"nothing": 0, "endpoint": 0}

    await db_clock.forward(600)
    await look()
    assert shown(gauges.OVERDUE) == {"nothing": 1, "endpoint": 0}
    assert 500 < shown(gauges.OVERDUE_OLDEST)["nothing"] < 600

    await db.rows("UPDATE webhook_endpoint SET rate_limit = 1")
    await look()
    assert shown(gauges.OVERDUE) == {"nothing": 0, "endpoint": 1}

    await workspaces.suspend(workspace)  # waits for an operator, not for its receiver
    await look()
    assert shown(gauges.OVERDUE) == {"nothing": 0, "endpoint": 0}

    await workspaces.resume(workspace)
    await webhooks.disable(workspace, made.id)  # waits for its owner, not for us
    await look()
    assert shown(gauges.OVERDUE) == {"nothing": 0, "endpoint": 0}


async def test_dead_letters_and_full_windows_are_counted(wire, workspace, bot, receiver, look):
    receiver.answer = 410
    await endpoint(workspace, receiver.url, "lead.created")
    await make.lead(workspace, bot)
    await db.rows("UPDATE webhook_endpoint SET admission_window = 1")
    await wire.relay()
    await look()
    assert shown(gauges.SATURATED) == 1
    await wire.deliver()
    await look()
    assert shown(gauges.DEAD) == 1
    assert shown(gauges.SATURATED) == 0


async def test_a_look_that_takes_too_long_is_no_database_that_is_down(redis, workspace, monkeypatch):
    monkeypatch.setattr(gauges, "STATEMENTS", {"counts": sql("SELECT pg_sleep(600)")})
    monkeypatch.setattr(observer, "_EVERY", 0.01)
    stop, before = asyncio.Event(), catalog.value("leadwire_loop_failures_total", loop="observe")
    watching = asyncio.create_task(Observer(redis, settings.get()).run(stop))
    await eventually(lambda: catalog.value("leadwire_loop_failures_total", loop="observe") > before)
    assert shown(gauges.DATABASE_UP) == 1
    stop.set()
    await watching


async def test_looks_that_take_as_long_as_they_may_are_within_the_patience():
    allowed = int(re.search(r"statement_timeout = '(\d+)s'", inspect.getsource(gauges._ledger))[1])
    of_holders = int(re.search(r"statement_timeout = '(\d+)s'", inspect.getsource(holders.update))[1])
    assert allowed * len(gauges.STATEMENTS) + of_holders * len(holders._STATEMENTS) < observer._TIMEOUT


@pytest.mark.parametrize("name", gauges.STATEMENTS)
async def test_a_statement_reads_nothing_of_what_is_finished_but_dead_letters(name, workspace):
    """These have a partial index. Sequential scans are off, as they are for the observer."""
    today = await _finished(workspace)
    async with db.transaction():
        await db.rows("SET LOCAL enable_seqscan = off")
        plan = await db.value(f"EXPLAIN (FORMAT JSON) {gauges.STATEMENTS[name].text}")
    partial = {
        row["name"]
        for row in await db.rows("SELECT indexrelid::regclass::text AS name FROM pg_index WHERE indpred IS NOT NULL")
    }
    found = [node for node in nodes(json.loads(bytes(plan))[0]["Plan"]) if "Relation Name" in node]
    finished = [node for node in found if is_of_a_day(node)]
    assert {node["Relation Name"] for node in found if node not in finished} <= {"delivery", "outbox", OF_ENDPOINTS}
    assert {node["Relation Name"].rpartition("_")[0] for node in finished} <= {"delivery_result"}
    scans = [node for node in finished if node["Relation Name"].endswith(today)]  # of empty days any index will do
    assert bool(scans) == (name == "counts")
    assert {node["Node Type"] for node in scans} <= {"Index Scan", "Index Only Scan", "Bitmap Heap Scan"}
    assert {node["Index Name"] for node in scans if "Index Name" in node} <= partial
    assert not [node for node in scans if "state" in node.get("Filter", "")]


async def _finished(workspace):
    """Thousands of events that are done with, for the planner to reckon with. Answers how their tables end."""
    await db.rows(
        """INSERT INTO event (id, workspace_id, kind, body, occurred_at)
           SELECT left(event_id_floor(current_date), 14) || lpad(n::text, 16, '0'), $1, 'lead.created', '', now()
           FROM generate_series(1, 3000) n""",
        workspace,
    )
    await db.rows(
        """INSERT INTO delivery_result (event_id, endpoint_id, workspace_id, state, attempts, generation, test,
               created_at, finished_at)
           SELECT id, 'we_' || repeat('0', 26), workspace_id, 'delivered', 1, 1, false, now(), now() FROM event"""
    )
    await db.rows("ANALYZE event, delivery_result")
    return await db.value("SELECT to_char(current_date, 'YYYYMMDD')")


def nodes(node):
    yield node
    for inner in node.get("Plans", ()):
        yield from nodes(inner)


def is_of_a_day(node):
    return re.search(r"_(\d{8}|default)$", node["Relation Name"]) is not None


async def test_one_of_two_observers_looks_and_the_other_takes_over(redis, workspace):
    first, second = (Observer(redis, settings.get()) for _ in range(2))
    await first.update()
    assert shown(gauges.REDIS_UP) == 1
    assert shown(observer.IMBALANCE)["overdue_with_room"] == 0
    assert shown(observer.DAYS_AHEAD) >= 1
    await second.update()  # in a process of its own it would show nothing; here both have the same gauges
    assert shown(gauges.REDIS_UP) == {}
    await redis.delete("leadwire:observer")  # the first has died and its lease has ended
    await second.update()
    assert shown(gauges.REDIS_UP) == 1


async def test_an_observer_that_stops_shows_nothing(redis, workspace):
    stop = asyncio.Event()
    stop.set()
    watching = Observer(redis, settings.get())
    await watching.update()
    await watching.run(stop)
    assert shown(gauges.UNRELAYED) == shown(observer.IMBALANCE) == {}
