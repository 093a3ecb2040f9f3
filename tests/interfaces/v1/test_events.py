"""/v1/events: the feed with its cursors, and requests that wait for the next event."""

import asyncio
import contextvars
import json
from datetime import timedelta

import pytest

from leadwire.delivery import long_polls
from leadwire.delivery.envelope import KINDS
from leadwire.delivery.relay import partitions
from leadwire.domain.accounts import changes as accounts
from leadwire.domain.bots import changes as bots
from leadwire.domain.conversations import pubsub
from leadwire.domain.feed import reads
from leadwire.domain.privacy import erasure
from leadwire.infrastructure import clock, db, ids, redis_pool
from leadwire.interfaces.v1 import authentication
from tests import asgi, make
from tests.delivery.test_feed import settled
from tests.waiting import eventually


@pytest.fixture(autouse=True)
def nobody_waits():
    reads._waiting.clear()
    yield
    assert not reads._waiting
    assert not long_polls._state.waiting


async def page(client, query="", status=200):
    answer = await client.get(f"/v1/events?{query}")
    assert answer.status_code == status, answer.text
    return answer.json()


def links(answer):
    return {rel: link["url"] for rel, link in answer.links.items()}


async def refused(client, query, parameter, code):
    [fault] = (await page(client, query, 400))["errors"]
    assert (fault["parameter"], fault["code"]) == (parameter, code)
    return fault["message"]


async def waiting():
    """Until a request waits."""
    await eventually(lambda: _true(reads._waiting))


async def _true(value):
    return bool(value)


async def test_events_come_oldest_first_as_webhooks_tell_them(client, workspace, bot):
    lead = await make.lead(workspace, bot)
    await settled()
    whole = await page(client, "limit=100")
    sent = await make.emitted()
    assert [{name: one[name] for name in ("event", "timestamp", "data")} for one in whole["data"]] == sent
    assert whole["meta"] == {"next_cursor": whole["data"][-1]["id"], "has_more": False, "held_back_since": None}
    assert links(await client.get("/v1/events?limit=100")) == {"first": "/v1/events?limit=100&cursor=first"}
    cut = await client.get("/v1/events?types=lead.created,conversation.started&limit=1")
    shared = "/v1/events?types=lead.created%2Cconversation.started&limit=1&cursor="
    assert links(cut) == {"first": f"{shared}first", "next": f"{shared}{cut.json()['meta']['next_cursor']}"}
    seen, cursor, more = [], "first", True
    while more:
        found = await page(client, f"limit=2&cursor={cursor}")
        seen += found["data"]
        cursor, more = found["meta"]["next_cursor"], found["meta"]["has_more"]
    assert seen == whole["data"]
    end = {"next_cursor": cursor, "has_more": False, "held_back_since": None}
    assert await page(client, f"cursor={cursor}") == {"data": [], "meta": end}
    one = (await client.get(f"/v1/events/{seen[0]['id']}")).json()["data"]
    assert one == seen[0]
    await erasure.erase_lead(workspace, lead.id)
    await settled()
    assert "Ada" not in json.dumps(await page(client, "limit=100"))
    gone = next(event["id"] for event in seen if event["event"] == "lead.created")
    assert (await client.get(f"/v1/events/{gone}")).status_code == 404


async def test_only_the_kinds_that_are_asked_for(client, workspace, bot):
    await make.lead(workspace, bot)
    await settled()
    found = await page(client, "types=lead.created,conversation.started,lead.created")
    assert [one["event"] for one in found["data"]] == ["conversation.started", "lead.created"]
    assert {one["event"] for one in (await page(client, "limit=100"))["data"]} <= {*KINDS}


async def test_a_time_is_a_place_to_begin(client, workspace, bot):
    before = clock.iso(clock.now() - timedelta(minutes=1))
    await make.lead(workspace, bot)
    await settled()
    everything = (await page(client))["data"]
    assert everything
    assert (await page(client, f"cursor={before}"))["data"] == everything
    later = clock.iso(clock.now() + timedelta(minutes=4))  # our clocks may differ
    end = {"next_cursor": later, "has_more": False, "held_back_since": None}
    assert (await page(client, f"cursor={later}"))["meta"] == end


@pytest.mark.parametrize(
    ("query", "parameter", "code"),
    [
        ("wait=31", "wait", "invalid_parameter"),
        ("wait=-1", "wait", "invalid_parameter"),
        ("wait=abc", "wait", "invalid_parameter"),
        ("wait=1.5", "wait", "invalid_parameter"),
        ("limit=101", "limit", "invalid_parameter"),
        ("types=lead.created&types=lead.updated", "types", "repeated_parameter"),
        ("types=", "types", "invalid_parameter"),
        ("types=lead.created,lead.exploded", "types", "invalid_parameter"),
        ("types=audit.recorded", "types", "invalid_parameter"),
        ("types=conversation.deleted", "types", "invalid_parameter"),
        ("cursor=", "cursor", "invalid_parameter"),
        ("cursor=x", "cursor", "invalid_cursor"),
        ("cursor=evt_1", "cursor", "invalid_cursor"),
        ("cursor=2999-01-01", "cursor", "invalid_cursor"),
        ("cursor=9999-01-01", "cursor", "invalid_cursor"),
        ("cursor=evt_00000000000000000000000000&cursor=first", "cursor", "repeated_parameter"),
        ("after=first", "after", "unknown_parameter"),
    ],
)
async def test_what_cannot_be_asked(client, query, parameter, code):
    message = await refused(client, query, parameter, code)
    if parameter == "types" and code == "invalid_parameter":
        assert ", ".join(KINDS) in message


async def test_a_cursor_of_another_workspace_or_one_that_is_made_up_is_foreign(client, workspace, bot):
    elsewhere = await accounts.create_workspace("Other")
    await make.lead(elsewhere, await bots.create(elsewhere, "Bot"))
    theirs = await db.value("SELECT min(id) FROM event WHERE workspace_id = $1", elsewhere)
    for foreign in (theirs, ids.new("evt")):
        await refused(client, f"cursor={foreign}", "cursor", "foreign_cursor")
    assert (await client.get(f"/v1/events/{theirs}")).status_code == 404


async def test_a_cursor_whose_day_is_gone_has_expired(client, workspace, bot):
    await make.lead(workspace, bot)
    await settled()
    old = ids.floor("evt", clock.now() - timedelta(days=400))
    assert old < await partitions.kept_from()
    await refused(client, f"cursor={old}", "cursor", "expired_cursor")


async def test_a_request_that_waits_gets_nothing_more_once_its_key_has_ended(client, workspace, bot, monkeypatch):
    monkeypatch.setattr(authentication, "CHECKED_EVERY", 0.0)
    asked = asyncio.create_task(page(client, "wait=30", 401))
    await waiting()
    await accounts.revoke_key(workspace, await db.value("SELECT id FROM api_key"))
    await make.lead(workspace, bot)
    assert (await asked)["code"] == "unauthenticated"


async def test_a_request_that_waits_gets_the_next_event_of_its_kinds(client, workspace, bot):
    talk = await make.conversation(workspace, bot)
    await settled()
    cursor = (await page(client, "limit=100"))["meta"]["next_cursor"]
    asked = asyncio.create_task(page(client, f"cursor={cursor}&types=lead.created&wait=30"))
    await waiting()
    assert not asked.done()
    await make.lead(workspace, bot)
    found = await asked
    assert [one["event"] for one in found["data"]] == ["lead.created"]
    assert found["data"][0]["data"]["conversation_id"] != talk


async def test_other_processes_are_told_after_the_commit(workspace, bot, redis):
    async with redis_pool.subscription(redis) as heard:
        await heard.psubscribe("leadwire:feed:*")
        await heard.get_message(timeout=240)
        await make.lead(workspace, bot)
        channels = set()
        while f"leadwire:feed:{workspace}:lead.created" not in channels:
            if message := await heard.get_message(timeout=240):
                channels.add(message["channel"].decode())
                assert message["data"] == b""


async def test_another_process_wakes_it(client, workspace, bot, redis, monkeypatch):
    """What would find the event without a message, looking again, is left out."""
    monkeypatch.setattr(reads, "_LOOK", 600.0)
    monkeypatch.setattr(reads, "_SOON", 600.0)
    asked = asyncio.create_task(page(client, "types=lead.created&wait=30"))
    await waiting()
    monkeypatch.setattr(long_polls, "wake", lambda *_: None)  # as if it were recorded elsewhere
    await make.lead(workspace, bot)
    await settled()

    async def told() -> bool:
        await redis.publish(f"leadwire:feed:{workspace}:lead.created", b"")
        return asked.done()

    await eventually(told)
    assert [one["event"] for one in (await asked)["data"]] == ["lead.created"]


async def test_an_event_that_is_committed_late_is_waited_for_and_not_skipped(client, workspace, bot):
    outside, loop = contextvars.copy_context(), asyncio.get_running_loop()
    await settled()
    async with db.transaction():
        slow = await make.lead(workspace, bot)
        await loop.create_task(make.lead(workspace, bot, email="quick@example.com"), context=outside)
        asked = loop.create_task(page(client, "types=lead.created&wait=30"), context=outside)
        await waiting()
        assert not asked.done()
    first = (await asked)["data"]
    await settled()
    rest = (await page(client, f"types=lead.created&cursor={first[-1]['id']}"))["data"]
    assert [one["data"]["id"] for one in [*first, *rest]].count(slow.id) == 1
    assert len({one["id"] for one in [*first, *rest]}) == 2


async def test_many_writers_and_one_who_waits_miss_nothing(client, workspace, bot):
    seen: list[str] = []
    done = asyncio.Event()

    async def follow():
        cursor = "first"
        while not (done.is_set() and (await db.value("SELECT count(*) FROM event")) == len(seen)):
            found = await page(client, f"cursor={cursor}&limit=3&wait={0 if done.is_set() else 1}")
            seen.extend(one["id"] for one in found["data"])
            cursor = found["meta"]["next_cursor"]

    reader = asyncio.create_task(follow())
    await asyncio.gather(*(make.somebody(workspace, bot) for _ in range(20)))
    done.set()
    await reader
    assert seen == [row["id"] for row in await db.rows("SELECT id FROM event ORDER BY xact, position")]


async def test_what_is_held_back_is_told(client, workspace, bot):
    """The client is told that there is something, and goes on from where it was."""
    outside, loop = contextvars.copy_context(), asyncio.get_running_loop()
    async with db.transaction():
        await make.somebody(workspace, bot)
        await loop.create_task(make.somebody(workspace, bot), context=outside)
        found = await loop.create_task(page(client, "cursor=first"), context=outside)
        first = "SELECT recorded_at FROM event ORDER BY xact, position LIMIT 1"
        since = await loop.create_task(db.value(first), context=outside)
    assert found == {
        "data": [], "meta": {"next_cursor": "first", "has_more": False, "held_back_since": clock.iso(since)},
    }  # fmt: skip
    assert len((await page(client, "cursor=first"))["data"]) == await db.value("SELECT count(*) FROM event")


async def test_so_many_wait_and_no_more(client, workspace, anonymous):
    asked = [asyncio.create_task(page(client, "wait=30")) for _ in range(reads.MOST_WAITING)]
    await eventually(lambda: _true(reads._waiting.total() == reads.MOST_WAITING))
    answer = await client.get("/v1/events?wait=30")
    assert (answer.status_code, answer.json()["code"], answer.headers["retry-after"]) == (429, "rate_limited", "1")
    assert (await page(client, "wait=0"))["data"] == []
    for one in asked:
        one.cancel()
    await asyncio.gather(*asked, return_exceptions=True)
    await eventually(lambda: _true(not reads._waiting))


async def test_a_caller_that_has_gone_away_frees_its_place(client):
    gone = asyncio.Event()

    async def receive():
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(_):
        pass

    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET", "scheme": "http",
        "path": "/v1/events", "raw_path": b"/v1/events", "root_path": "", "query_string": b"wait=30",
        "headers": [(b"authorization", client.headers["Authorization"].encode())],
        "client": ("127.3.0.2", 1), "server": ("test", 80), "extensions": {},
    }  # fmt: skip
    asked = asyncio.create_task(asgi.app()(scope, receive, send))
    await waiting()
    gone.set()
    async with asyncio.timeout(240):
        await asked


async def test_a_process_that_stops_keeps_nobody_waiting(client, monkeypatch):
    monkeypatch.setattr(reads, "_LOOK", 600.0)
    asked = asyncio.create_task(page(client, "wait=30"))
    await waiting()
    monkeypatch.setattr(pubsub.hub, "leaving", True)
    await eventually(lambda: _woken(asked))
    assert (await asked)["data"] == []


async def _woken(asked) -> bool:
    long_polls.wake_all()
    return asked.done()


async def test_a_key_without_the_scope_sees_nothing(anonymous, workspace):
    _, key = await accounts.create_key(workspace, "reader", ["leads:read", "conversations:read"])
    answer = await anonymous.get("/v1/events?wait=30", headers={"Authorization": f"Bearer {key}"})
    assert (answer.status_code, answer.json()["code"]) == (403, "insufficient_scope")
