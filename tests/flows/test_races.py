"""Requests at the same moment, over HTTP, to two API processes that share nothing but the servers."""

import asyncio
import itertools
from contextlib import AsyncExitStack

import httpx
import pytest

from leadwire.domain.conversations import changes as conversations
from leadwire.infrastructure import db
from leadwire.infrastructure.errors import Conflict
from tests import make
from tests.flows.commands import Started, free_port
from tests.waiting import eventually

pytestmark = pytest.mark.flow


@pytest.fixture(scope="module")
async def addresses(servers, connected):
    """Two `leadwire serve` on the database of the tests."""
    settings = {"DATABASE_URL": servers.database_url, "REDIS_URL": servers.redis_url, "RATE_LIMIT": "0"}
    ports = [free_port(), free_port()]
    processes = [Started("serve", "--port", str(port), **settings) for port in ports]
    try:
        for process, port in zip(processes, ports, strict=True):
            await eventually(lambda process=process, port=port: answers(process, port))
        yield [f"http://127.0.0.1:{port}" for port in ports]
        for process in processes:
            assert "request.failed" not in process.err
    finally:
        for process in processes:
            process.close()


async def answers(process, port):
    assert process.running(), process.err
    async with httpx.AsyncClient(timeout=240) as client:
        try:
            return (await client.get(f"http://127.0.0.1:{port}/health/ready")).status_code == 200
        except httpx.TransportError:
            return False


@pytest.fixture
async def send(addresses, api_key):
    """Send a request to either process in turn."""
    async with AsyncExitStack() as stack:
        clients = [
            await stack.enter_async_context(
                httpx.AsyncClient(base_url=address, headers={"Authorization": f"Bearer {api_key}"}, timeout=240)
            )
            for address in addresses
        ]
        turns = itertools.cycle(clients)
        yield lambda method, path, **sent: next(turns).request(method, path, **sent)


async def told(column, subject):
    """The kinds of the events about a lead or a conversation, in the order of its changes."""
    rows = await db.rows(
        f"SELECT kind FROM event WHERE {column} = $1 AND kind NOT LIKE 'message.received' ORDER BY position",
        subject,
    )
    return [row["kind"] for row in rows]


async def test_a_patch_against_a_deletion(send, workspace, bot):
    """Every change that was answered with 200 has an event before the deletion, and none has one after it."""
    too_late = 0
    for number in range(60):
        lead = await make.lead(workspace, bot, email=f"p{number}@example.com")
        path = f"/v1/leads/{lead.id}"
        patches = [send("PATCH", path, json={"name": f"Name {n}"}) for n in range(4)]
        requests = [*patches[:2], send("DELETE", path), send("DELETE", path), *patches[2:]]
        statuses = [answer.status_code for answer in await asyncio.gather(*requests)]
        patched, deleted = [*statuses[:2], *statuses[4:]], statuses[2:4]
        assert sorted(deleted) == [200, 404]
        assert set(patched) <= {200, 404}
        too_late += patched.count(404)
        rows = await db.rows(
            """SELECT kind FROM event WHERE lead_id = $1 OR (kind = 'lead.deleted' AND subject = $2)
               ORDER BY position""",
            lead.id, lead.conversation_id,
        )  # fmt: skip
        assert [row["kind"] for row in rows] == ["lead.created", *["lead.updated"] * patched.count(200), "lead.deleted"]
    assert 0 < too_late < 240  # both outcomes came about, or this has shown nothing


async def test_patches_of_different_keys_all_stay(send, workspace, bot):
    lead = await make.lead(workspace, bot)
    path = f"/v1/leads/{lead.id}"
    for number in range(20):
        sent = [{"custom_fields": {f"{side} {number}": number}} for side in ("left", "right")]
        both = await asyncio.gather(*(send("PATCH", path, json=one) for one in sent))
        assert [answer.status_code for answer in both] == [200, 200]
    found = (await send("GET", path)).json()["data"]["custom_fields"]
    assert found == {f"{side} {number}": number for number in range(20) for side in ("left", "right")}
    assert await told("lead_id", lead.id) == ["lead.created", *["lead.updated"] * 40]


async def test_an_end_fifty_times_at_once(send, workspace, bot):
    talk = await make.conversation(workspace, bot)
    answers = await asyncio.gather(*(send("POST", f"/v1/conversations/{talk}/end") for _ in range(50)))
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.text for answer in answers}) == 1
    assert await told("conversation_id", talk) == ["conversation.started", "conversation.ended"]


async def test_nothing_is_said_after_the_end(send, workspace, bot):
    async def talking(talk):
        for said in itertools.count():
            try:
                await conversations.add_message(workspace, talk, "bot", f"line {said}")
            except Conflict as refused:
                assert refused.code == "conversation_ended"
                break
        return said

    for _ in range(20):
        talk = await make.conversation(workspace, bot)
        said, ended = await asyncio.gather(talking(talk), send("POST", f"/v1/conversations/{talk}/end"))
        assert ended.status_code == 200
        kinds = await told("conversation_id", talk)
        assert kinds == ["conversation.started", *["message.sent"] * said, "conversation.ended"]


async def test_one_idempotency_key_at_both_processes_is_one_change(send, workspace, bot):
    for number in range(20):
        lead = await make.lead(workspace, bot, email=f"p{number}@example.com")
        request = ("PATCH", f"/v1/leads/{lead.id}")
        sent = {"json": {"name": "Grace"}, "headers": {"Idempotency-Key": f"key {number}"}}
        answers = await asyncio.gather(*(send(*request, **sent) for _ in range(6)))
        done = [answer for answer in answers if answer.status_code == 200]
        assert done
        assert len({answer.text for answer in done}) == 1
        assert [answer.headers.get("idempotent-replayed") for answer in done].count(None) == 1
        others = [answer.json()["code"] for answer in answers if answer not in done]
        assert set(others) <= {"idempotency_in_progress"}
        assert await told("lead_id", lead.id) == ["lead.created", "lead.updated"]
