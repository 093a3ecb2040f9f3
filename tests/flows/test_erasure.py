"""A lead is captured, delivered and erased; then no trace of the person is left in any system."""

import asyncio
import secrets
import sys

import httpx
import pytest

from leadwire.domain.conversations.changes import inbox
from leadwire.infrastructure import db, ids, settings
from tests import make
from tests.delivery.wired import endpoint
from tests.domain.bots.conftest import published
from tests.flows.commands import Started, everything, settings_on
from tests.receiver import Receiver
from tests.waiting import eventually

pytestmark = pytest.mark.flow

EMAIL, NAME, PHONE = "zaphodine.q@secretly.example", "Zaphodine Quixotova", "+44 1632 960961"
TRACES = ("zaphodine", "quixotova", "secretly", "1632960961", "1632 960961", "632 960 961")
KINDS = (
    "lead.created", "lead.updated", "lead.deleted", "conversation.started", "conversation.handoff",
    "conversation.ended", "message.sent", "message.received",
)  # fmt: skip
NOTHING_TO_SEND = "SELECT count(*) = 0 FROM every_delivery WHERE state IN ('waiting', 'queued')"
FLOW = """
format = 1
start = "name"

[[nodes]]
type = "ask"
id = "name"
text = "Your name?"
input = "text"
save_to = "name"
next = "email"

[[nodes]]
type = "ask"
id = "email"
text = "{{name}}, your e-mail?"
input = "email"
save_to = "email"
next = "phone"

[[nodes]]
type = "ask"
id = "phone"
text = "Shall we write to {{email}} or call?"
input = "phone"
save_to = "phone"
next = "news"

[[nodes]]
type = "ask"
id = "news"
text = "May we send you news, {{name}}?"
input = "choice"
options = [{ label = "Yes", consent = true }]
next = "human"

[[nodes]]
type = "handoff"
id = "human"
text = "One moment, {{name}}."
"""


class Loud(Started):
    """A process that logs all it can."""

    command = (sys.executable, "-m", "tests.flows.loud")


@pytest.fixture
async def processes(servers, redis):
    """An API process, a relay and a worker on the tests' database, and the API's address."""
    async with everything(Loud, settings_on(servers)) as started:
        yield started


async def chat(client, bot):
    """A complete visit through the widget. Returns the conversation."""
    known = f"?email={EMAIL}&name=Zaphodine"
    said = {
        "content": NAME, "client_message_id": secrets.token_hex(12), "page_url": f"https://shop.example/a{known}",
        "referrer": f"https://mail.example/{known}",
    }  # fmt: skip
    made = (await client.post(f"/widget/v1/bots/{bot.id}/conversations", json=said)).json()
    visitor = {"Authorization": f"Bearer {made['token']}"}
    for content in (
        "no address: zaphodine@",
        EMAIL,
        PHONE,
        "yes",
        f"I am {NAME.upper()}, call 01632 960 961 or {EMAIL}",
    ):
        answer = await client.post(
            f"/widget/v1/conversations/{made['conversation_id']}/messages",
            json={"content": content, "client_message_id": secrets.token_hex(12)},
            headers=visitor,
        )
        assert answer.status_code == 200, answer.text
    return made["conversation_id"]


async def operate(workspace, conversation):
    """An operator answers and takes notes."""
    operator = ids.new("user")
    await db.rows(
        """INSERT INTO user_account (id, workspace_id, email, role, created_at)
           VALUES ($1, $2, 'o@x.com', 'agent', now())""",
        operator, workspace,
    )  # fmt: skip
    await inbox.reply(workspace, conversation, operator, f"Hello {NAME}, is it {EMAIL}?")
    await inbox.note(workspace, conversation, operator, f"{NAME} wants a call: {PHONE}")


async def manage(client, lead):
    """Changes over the API, well made and not."""
    path = f"/v1/leads/{lead}"
    await client.patch(path, json={"company": f"{NAME} Ltd"}, headers={"Idempotency-Key": "k"})
    for bad in (
        {"email": f"{EMAIL}@"}, {"phone": f"{PHONE}x{NAME}"}, {"name": f"{NAME}\0"}, {NAME: 1}, {"score": NAME},
        {"id": EMAIL}, {"custom_fields": {NAME: {}}},
    ):  # fmt: skip
        assert (await client.patch(path, json=bad)).status_code == 422
    await client.patch(path, content=f'{{"name": "{NAME}'.encode(), headers={"Content-Type": "application/json"})
    await client.get(f"/v1/leads?name={NAME}")
    await client.get(f"/v1/leads/{EMAIL}")


async def clash(client, workspace, bot, lead):
    """Two leads take one address at the same moment, which PostgreSQL finds out and likes to log."""
    other = await make.lead(workspace, bot.id, email="other@x.example", name="Other")
    async with asyncio.TaskGroup() as tasks, db.transaction():
        await db.rows("UPDATE lead SET email = 'new.' || $2 WHERE id = $1", other.id, EMAIL)
        patch = tasks.create_task(client.patch(f"/v1/leads/{lead}", json={"email": f"new.{EMAIL}"}))
        waiting = "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        await eventually(lambda: db.value(waiting))
    assert patch.result().status_code == 409, patch.result().text
    await db.rows("UPDATE lead SET email = 'other@x.example' WHERE id = $1", other.id)


async def stored():
    """Every row of every table, as text, by table; bytes are hexadecimal."""
    tables = await db.rows(
        """SELECT table_name FROM information_schema.tables
           WHERE table_schema = 'public' AND table_type = 'BASE TABLE' ORDER BY 1"""
    )
    return {
        name: "\n".join(row[0] for row in await db.rows(f"SELECT to_jsonb(t)::text FROM {name} t"))
        for (name,) in tables
    }


async def in_redis(redis):
    """Every key of Redis, with what is in it. One that ends meanwhile has nothing."""

    async def nothing(key):
        return None

    readers = {
        b"none": nothing, b"string": redis.get, b"hash": redis.hgetall, b"stream": redis.xrange, b"set": redis.smembers,
        b"list": lambda key: redis.lrange(key, 0, -1), b"zset": lambda key: redis.zrange(key, 0, -1, withscores=True),
    }  # fmt: skip
    return {str(key): str(await readers[await redis.type(key)](key)) async for key in redis.scan_iter()}


def knowing(texts):
    """Which of the texts hold a trace."""
    traces = [form for trace in TRACES for form in (trace, trace.encode().hex(), trace.upper().encode().hex())]
    return {name for name, text in texts.items() if any(trace in text.lower() for trace in traces)}


async def test_nobody_knows_an_erased_person(servers, redis, workspace, api_key, processes):
    started, address = processes
    async with Receiver() as good, Receiver(500) as bad, httpx.AsyncClient(base_url=address, timeout=240) as client:
        good.answer, good.echo, bad.echo = 200, True, True
        for receiver in (good, bad):
            await endpoint(workspace, receiver.url, *KINDS)
        bot = await published(workspace, FLOW)
        conversation = await chat(client, bot)
        await operate(workspace, conversation)
        lead = await db.value("SELECT id FROM lead")
        client.headers["Authorization"] = f"Bearer {api_key}"
        await manage(client, lead)
        await clash(client, workspace, bot, lead)
        await eventually(lambda: db.value("SELECT count(*) > 5 FROM every_delivery WHERE state = 'dead'"))
        known = {"lead", "conversation", "message", "idempotent_answer", "conversation_note", "consent"}
        assert knowing(await stored()) >= known
        assert {name.rpartition("_")[0] for name in knowing(await stored())} >= {"event", "attempt"}

        assert (await client.delete(f"/v1/leads/{lead}")).status_code == 200
        await eventually(lambda: any(one.event == "lead.deleted" for one in good.deliveries))
        await eventually(lambda: db.value(NOTHING_TO_SEND))
    assert knowing(await stored()) == set()
    assert knowing(await in_redis(redis)) == set()
    logs = {" ".join(process.process.args[3:4]): process.err + process.out for process in started}
    assert all('"level":"debug"' in log for log in logs.values())
    logs |= {path.name: path.read_text(errors="replace") for path in settings.get().data_dir.rglob("*.log")}
    assert {"serve", "relay", "deliver", "background", "postgres.log", "valkey.log"} <= logs.keys()
    assert knowing(logs) == set()
