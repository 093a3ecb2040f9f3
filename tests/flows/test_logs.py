"""One change is followed from its request to its POST by the ids in the logs, which name no person."""

import httpx
import pytest

from leadwire.infrastructure import db
from tests import make
from tests.delivery.wired import endpoint
from tests.flows.commands import Started, everything, settings_on
from tests.receiver import Receiver
from tests.waiting import eventually

pytestmark = pytest.mark.flow

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PERSON = ("marguerite", "ouillon", "francium.example", "1632960442", "1632 960442")


@pytest.fixture
async def processes(servers, redis):
    """An API process, a relay and a worker on the tests' database, and the API's address."""
    async with everything(Started, settings_on(servers, LOG_LEVEL="debug")) as started:
        yield started


async def test_a_change_is_followed_from_its_request_to_its_post(workspace, bot, api_key, processes):
    (serve, relay, worker, _), address = processes
    lead = await make.lead(workspace, bot)
    await db.rows("DELETE FROM event")
    async with Receiver(lambda received: 500 if received.attempt == 1 else 204) as receiver:
        made = await endpoint(workspace, receiver.url, "lead.updated")
        async with httpx.AsyncClient(
            base_url=address, headers={"Authorization": f"Bearer {api_key}"}, timeout=240
        ) as client:
            answer = await client.patch(
                f"/v1/leads/{lead.id}",
                json={
                    "name": "Marguerite Ouillon",
                    "email": "marguerite.p@francium.example",
                    "phone": "+44 1632 960442",
                },
                headers={"X-Request-Id": "asked-for-once", "traceparent": f"00-{TRACE}-00f067aa0ba902b7-01"},
            )
            assert answer.status_code == 200
            await client.get(f"/v1/leads/{lead.id}")
            await client.get("/v1/leads/marguerite.p@francium.example")
        first, second = await receiver.received(2)
        assert {one.headers["traceparent"][3:35] for one in (first, second)} == {TRACE}
        await eventually(lambda: len(worker.logged("delivery.attempted")) == 2)
        await eventually(lambda: len(serve.logged("request.answered")) == 3)

    asked, read, unknown = serve.logged("request.answered")
    assert [line["level"] for line in (asked, read, unknown)] == ["info", "debug", "debug"]
    assert asked["request_id"] == "asked-for-once"
    assert asked["trace_id"] == TRACE
    assert asked["event_ids"] == [first.webhook_id]
    assert (asked["method"], asked["route"], asked["status"]) == ("PATCH", "/v1/leads/{lead_id}", 200)
    assert (read["status"], unknown["status"]) == (200, 404)
    assert {line["workspace_id"] for line in (asked, read, unknown)} == {workspace}

    for line, outcome in zip(worker.logged("delivery.attempted"), ("http_5xx", "delivered"), strict=True):
        assert line["outcome"] == outcome
        assert line["event_id"] == first.webhook_id
        assert line["endpoint_id"] == made.id
        assert line["workspace_id"] == workspace
        assert line["trace_id"] == TRACE
    assert [line["level"] for line in worker.logged("delivery.attempted")] == ["info", "debug"]

    for process in (serve, relay, worker):
        assert [word for word in PERSON if word in process.err.lower()] == []
        assert receiver.url not in process.err  # an address may hold a secret


async def test_reads_and_successes_are_not_told_of_unless_asked_for(workspace, bot, client, caplog):
    caplog.set_level("INFO", "leadwire")
    await client.get("/v1/leads")
    assert [record.message for record in caplog.records if record.message == "request.answered"] == []
    await client.get("/v1/leads", headers={"authorization": "Bearer nobody"})
    (refused,) = [record for record in caplog.records if record.message == "request.answered"]
    assert refused.__dict__["fields"]["status"] == 401
    caplog.clear()
    lead = await make.lead(workspace, bot)
    await client.patch(f"/v1/leads/{lead.id}", json={"score": 3})
    assert [record.message for record in caplog.records if record.message == "request.answered"] == ["request.answered"]
