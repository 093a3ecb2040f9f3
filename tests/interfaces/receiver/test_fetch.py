"""/receiver/v1 of an endpoint whose receiver fetches: the long poll, and what cannot be read."""

import asyncio
import json
import re
from math import inf
from types import SimpleNamespace

import pytest

from leadwire.delivery import long_polls, pull
from leadwire.delivery.endpoints import changes as rows
from leadwire.domain.conversations import pubsub
from leadwire.domain.leads import changes as leads
from leadwire.domain.leads.schema import LeadPatch
from leadwire.domain.webhooks import changes, receivers, redrives
from leadwire.domain.webhooks.receivers import Receiver
from leadwire.domain.webhooks.schema import EndpointChange
from leadwire.infrastructure import db, settings
from leadwire.interfaces.http import middleware
from leadwire.interfaces.receiver import api
from tests import asgi, jobs, statements
from tests.delivery.test_delivery import states
from tests.delivery.test_numbers import people
from tests.delivery.test_pull import puller, puller_of  # noqa: F401 - a fixture
from tests.waiting import eventually


@pytest.fixture
async def asking(workspace, puller, anonymous):  # noqa: F811
    """A client with the token of the endpoint."""
    anonymous.headers["Authorization"] = f"Bearer {await receivers.make_token(workspace, puller.id)}"
    return anonymous


async def fetched(asking, query="wait=0"):
    answer = await asking.post(f"/receiver/v1/fetch?{query}")
    assert answer.status_code == 200, answer.text
    return answer.json()["data"]


async def acknowledged(asking, batch):
    ids = [one["headers"]["webhook-id"] for one in batch["deliveries"]]
    answer = await asking.post("/receiver/v1/acknowledge", json={"lease": batch["lease"], "ids": ids})
    assert answer.status_code == 200, answer.text
    return answer.json()["data"]


async def test_deliveries_are_fetched_and_acknowledged(asking, workspace, bot, wire, db_clock):
    await people(workspace, bot, 3)
    await wire.relay()
    batch = await fetched(asking, "limit=2")
    assert (len(batch["deliveries"]), batch["seconds"]) == (2, 30.0)
    ids = [one["headers"]["webhook-id"] for one in batch["deliveries"]]
    assert await acknowledged(asking, batch) == {"acknowledged": ids, "late": []}
    rest = await fetched(asking)
    await db_clock.forward(31)
    late = [one["headers"]["webhook-id"] for one in rest["deliveries"]]
    assert await acknowledged(asking, rest) == {"acknowledged": [], "late": late}
    assert (await fetched(asking))["deliveries"] == []


async def test_a_fetch_waits_for_what_comes(asking, workspace, bot, wire):
    waiting = asyncio.create_task(fetched(asking, "wait=30"))
    await people(workspace, bot, 1)
    await wire.relay()
    assert len((await waiting)["deliveries"]) == 1


async def test_who_waits_with_a_token_that_is_replaced_gets_nothing(asking, workspace, puller, bot, wire, monkeypatch):  # noqa: F811
    monkeypatch.setattr(api, "CHECKED_EVERY", 0.0)
    waiting = asyncio.create_task(asking.post("/receiver/v1/fetch?wait=30"))
    await eventually(lambda: long_polls.count(puller.id))
    await receivers.make_token(workspace, puller.id)
    await people(workspace, bot, 1)
    await wire.relay()
    assert (await waiting).status_code == 401
    assert await db.value("SELECT count(*) FROM delivery WHERE owner IS NOT NULL") == 0


async def _event(workspace, bot, fetcher, wire):
    yield
    await people(workspace, bot, 1)


async def _test_of_a_disabled_endpoint(workspace, bot, fetcher, wire):
    await changes.disable(workspace, fetcher.id)
    yield
    await changes.send_test(workspace, fetcher.id)


async def _enabled(workspace, bot, fetcher, wire):
    await people(workspace, bot, 1)
    await wire.relay()
    await changes.disable(workspace, fetcher.id)
    yield
    await changes.enable(workspace, fetcher.id)


async def _resumed(workspace, bot, fetcher, wire):
    await people(workspace, bot, 1)
    await wire.relay()
    await rows.hold(workspace, held=True)
    yield
    await rows.hold(workspace, held=False)


async def _redriven(workspace, bot, fetcher, wire):
    await people(workspace, bot, 1)
    await wire.relay()
    await fetcher.acknowledge(await fetcher.fetch())
    yield
    await redrives.start(workspace, redrives.Selection(endpoint_id=fetcher.id, replay=True), 1000)
    assert await jobs.redrive() == 1


async def _next_in_order(workspace, bot, fetcher, wire):
    await changes.configure(
        workspace, fetcher.id, EndpointChange(ordered=True, events=["lead.created", "lead.updated"])
    )
    (lead,) = await people(workspace, bot, 1)
    await leads.update(workspace, lead.id, LeadPatch(name="Grace"), unchanged={})
    await wire.relay()
    batch = await fetcher.fetch()
    yield
    await fetcher.acknowledge(batch)


@pytest.mark.parametrize(
    "deed", [_event, _test_of_a_disabled_endpoint, _enabled, _resumed, _redriven, _next_in_order],
    ids=lambda deed: deed.__name__.strip("_"),
)  # fmt: skip
async def test_what_is_due_wakes_who_waits(asking, workspace, bot, wire, puller, monkeypatch, deed):  # noqa: F811
    """What would find it without a message, looking again, is left out."""
    monkeypatch.setattr(receivers, "_LOOK", 600.0)
    doing = deed(workspace, bot, puller, wire)
    await anext(doing)
    await wire.relay()
    with statements.sent() as sent:
        waiting = asyncio.create_task(fetched(asking, "wait=30"))
        await eventually(lambda: pull._UNTIL_DUE.text in [sql for sql, _ in sent])
    assert await anext(doing, None) is None
    await wire.relay()
    assert len((await waiting)["deliveries"]) == 1


async def test_another_process_wakes_it(asking, workspace, bot, wire, puller, redis, monkeypatch):  # noqa: F811
    monkeypatch.setattr(receivers, "_LOOK", 600.0)
    waiting = asyncio.create_task(fetched(asking, "wait=30"))
    await eventually(lambda: long_polls.count(puller.id))
    monkeypatch.setattr(long_polls, "_wake_here", lambda _: None)  # as if the relay were elsewhere
    await people(workspace, bot, 1)
    await wire.relay()
    monkeypatch.undo()

    async def told():
        await redis.publish(f"leadwire:feed:{puller.id}:due", b"")
        return waiting.done()

    await eventually(told)
    assert len((await waiting)["deliveries"]) == 1


async def test_a_retry_is_waited_for(workspace, bot, wire, puller, db_clock):  # noqa: F811
    assert await pull.until_due(puller.id, workspace) == inf
    await people(workspace, bot, 1)
    await wire.relay()
    assert await pull.until_due(puller.id, workspace) == 0
    await puller.fetch()
    await db_clock.forward(31)
    await pull.expire(settings.get())
    assert await pull.until_due(puller.id, workspace) == 60


async def test_so_many_fetches_of_an_endpoint_wait_and_no_more(asking, workspace, bot, wire, puller):  # noqa: F811
    waiting = [asyncio.create_task(fetched(asking, "wait=30")) for _ in range(receivers.MOST_WAITING)]
    await eventually(lambda: long_polls.count(puller.id) == receivers.MOST_WAITING)
    answer = await asking.post("/receiver/v1/fetch?wait=1")
    assert (answer.status_code, answer.json()["code"], answer.headers["retry-after"]) == (429, "too_many_waiting", "1")
    assert (await fetched(asking))["deliveries"] == []
    other = await puller_of(workspace)
    token = {"Authorization": f"Bearer {await receivers.make_token(workspace, other.id)}"}
    assert (await asking.post("/receiver/v1/fetch?wait=1", headers=token)).status_code == 200
    for one in waiting:
        one.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert not long_polls.count(puller.id)


async def test_a_caller_that_goes_away_frees_its_place(asking, puller, monkeypatch):  # noqa: F811
    monkeypatch.setattr(receivers, "_LOOK", 600.0)
    receiver = Receiver(puller.id, puller.receiver.workspace, fetches=True)
    gone = asyncio.get_running_loop().create_future()
    waiting = asyncio.create_task(receivers.wait(receiver, 600, gone, lambda: False))
    await eventually(lambda: long_polls.count(puller.id))
    gone.set_result(None)
    await waiting
    assert not long_polls.count(puller.id)


async def test_what_a_fetch_waits_is_not_counted_as_slowness(asking, monkeypatch):
    seconds, clock = [], SimpleNamespace(now=0.0)
    clock.perf_counter = lambda: clock.now

    async def wait(*_):
        clock.now += 20

    for module in (api, middleware):
        monkeypatch.setattr(module, "time", clock)
    monkeypatch.setattr(middleware, "_record", lambda _scope, _status, took: seconds.append(took))
    monkeypatch.setattr(receivers, "wait", wait)
    await fetched(asking)
    assert seconds == [0.0]


async def test_a_caller_that_has_gone_away_gets_nothing(asking, workspace, bot, wire):
    """Else what it never sees would count as a failed attempt."""
    await people(workspace, bot, 1)
    await wire.relay()
    messages = iter([{"type": "http.request", "body": b"", "more_body": False}, {"type": "http.disconnect"}])
    sent = []

    async def receive():
        return next(messages)

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST", "scheme": "http",
        "path": "/receiver/v1/fetch", "raw_path": b"/receiver/v1/fetch", "root_path": "", "query_string": b"wait=30",
        "headers": [(b"authorization", asking.headers["Authorization"].encode())],
        "client": ("127.3.0.1", 1), "server": ("test", 80), "extensions": {},
    }  # fmt: skip
    await asgi.app()(scope, receive, send)
    assert json.loads(sent[1]["body"])["data"]["deliveries"] == []
    assert await states() == {"waiting": 1}


async def test_a_process_that_stops_keeps_nobody_waiting(asking, monkeypatch):
    monkeypatch.setattr(pubsub.hub, "leaving", True)
    assert (await fetched(asking, "wait=30"))["deliveries"] == []


async def test_an_endpoint_that_leadwire_sends_to_hands_out_nothing(asking, workspace, bot, wire, puller, receiver):  # noqa: F811
    await people(workspace, bot, 1)
    await wire.relay()
    await changes.configure(workspace, puller.id, EndpointChange(url=receiver.url))
    answer = await asking.post("/receiver/v1/fetch")
    assert (answer.status_code, answer.json()["code"]) == (409, "not_fetched")


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=101", "wait=31", "wait=-1", "wait=1.5", "lease=x", "limit=1&limit=2"]
)
async def test_a_fetch_that_cannot_be_is_refused(asking, query):
    answer = await asking.post(f"/receiver/v1/fetch?{query}")
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["parameter"] == query.partition("=")[0]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("", 400), ("[]", 422), ("{}", 422), ('{"lease": "x"}', 422), ('{"lease": "x", "ids": "evt_1"}', 422),
        ('{"lease": 1, "ids": []}', 422), ('{"lease": "x", "ids": [1]}', 422), ('{"lease": "", "ids": []}', 422),
        ('{"lease": "x", "ids": ["\\u0000"]}', 422), ('{"lease": "x\\n", "ids": []}', 422),
        ('{"lease": "x", "ids": [], "all": true}', 422), ('{"lease": "x", "ids": ["\\ud800"]}', 400),
        (json.dumps({"lease": "x", "ids": ["evt_1"] * 257}), 422), ('{"lease": "x", "ids": []}', 200),
        (json.dumps({"lease": "%", "ids": ["'; DROP TABLE delivery"]}), 422),
        (json.dumps({"lease": "pull:%", "ids": ["evt_1"]}), 200),
    ],
)  # fmt: skip
async def test_an_acknowledgement_that_cannot_be_is_refused(asking, body, status):
    answer = await asking.post("/receiver/v1/acknowledge", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == status, answer.text


async def test_a_guessed_lease_acknowledges_nothing(asking, workspace, bot, wire):
    await people(workspace, bot, 1)
    await wire.relay()
    batch = await fetched(asking)
    assert re.fullmatch("pull:[0-9a-f]{32}", batch["lease"])
    for lease in ("pull:%", "test", "pull:", batch["lease"][:-1], batch["lease"].upper()):
        assert (await acknowledged(asking, batch | {"lease": lease}))["acknowledged"] == []
    assert await states() == {"queued": 1}
    assert await db.value("SELECT count(*) FROM attempt") == 0
    assert (await acknowledged(asking, batch))["late"] == []
    assert await pull.expire(settings.get()) == 0
