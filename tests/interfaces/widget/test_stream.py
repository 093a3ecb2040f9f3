"""Live messages from an agent: across processes, over lost connections, until the visitor has left."""

import asyncio
import json

import httpx
import pytest

from leadwire.domain.bots import reads
from leadwire.domain.conversations import changes, pubsub
from leadwire.domain.conversations.changes import inbox
from leadwire.domain.workspaces import changes as workspaces
from leadwire.infrastructure import db
from leadwire.interfaces.widget import api
from tests.domain.bots.conftest import hand_back
from tests.interfaces.widget.conftest import Caller
from tests.serving import served
from tests.waiting import eventually


@pytest.fixture
async def door(shop):
    async with served() as address, httpx.AsyncClient(base_url=address, timeout=240) as client:
        yield client


@pytest.fixture
async def caller(door, shop):
    """A visitor who waits for a person, at a real socket."""
    caller = Caller(door, shop)
    await caller.says("what?")
    await caller.post("handoff")
    return caller


class Follower:
    """A widget that listens: collects what comes, remembers the last place."""

    def __init__(self, caller, after=0):
        self.caller = caller
        self.after = after
        self.seen = []
        self.status = None
        self.task = asyncio.create_task(self._follow())

    async def _follow(self):
        where = f"/widget/v1/conversations/{self.caller.conversation}/events"
        headers = {**self.caller.headers, "Last-Event-ID": str(self.after)}
        async with self.caller.client.stream("GET", where, headers=headers) as answer:
            assert answer.status_code == 200
            assert answer.headers["content-type"].startswith("text/event-stream")
            kind = "message"
            async for line in answer.aiter_lines():
                if line.startswith("id:"):
                    self.after = int(line[3:])
                elif line.startswith("event:"):
                    kind = line[6:].strip()
                elif line.startswith("data:"):
                    data = json.loads(line[5:])
                    if kind == "status":
                        self.status = data["status"]
                    elif kind == "message":
                        self.seen.append(data)
                elif not line:
                    kind = "message"

    def said(self):
        return [message["content"] for message in self.seen]


async def last_seq(caller):
    return (await caller.get("messages")).json()["messages"][-1]["seq"]


async def test_what_a_person_says_arrives_and_the_visitors_own_lines_name_themselves(workspace, caller, operators):
    follower = Follower(caller, await last_seq(caller))
    await eventually(lambda: pubsub.hub.watchers(workspace, caller.conversation))
    await inbox.reply(workspace, caller.conversation, operators[0], "Hello, this is Grace.")
    await caller.says("Hi Grace", "my-own-message-id")
    await eventually(lambda: len(follower.seen) == 2)
    assert follower.said() == ["Hello, this is Grace.", "Hi Grace"]
    assert follower.seen[1]["client_message_id"] == "my-own-message-id"
    await changes.end(workspace, caller.conversation, "agent")
    await eventually(follower.task.done)
    assert follower.status == "ended"


async def test_a_resumed_stream_has_everything_once(workspace, caller, operators):
    place = await last_seq(caller)
    await inbox.reply(workspace, caller.conversation, operators[0], "one")
    await inbox.reply(workspace, caller.conversation, operators[0], "two")
    first = Follower(caller, place)
    await eventually(lambda: len(first.seen) == 2)
    first.task.cancel()
    await inbox.reply(workspace, caller.conversation, operators[0], "three")
    second = Follower(caller, first.after)
    await eventually(lambda: second.seen)
    assert second.said() == ["three"]
    second.task.cancel()


async def test_given_back_to_the_bot_the_stream_ends(workspace, caller, operators):
    follower = Follower(caller)
    await eventually(lambda: follower.seen)
    await hand_back(workspace, caller.conversation, operators[0])
    await eventually(follower.task.done)
    assert (follower.status, follower.said()[-1]) == ("active", "Your e-mail?")


async def test_a_suspension_ends_the_stream(workspace, caller, monkeypatch):
    monkeypatch.setattr(api, "_PING", 0.01)
    follower = Follower(caller)
    await eventually(lambda: follower.seen)
    await workspaces.suspend(workspace)
    await eventually(follower.task.done)
    assert follower.status is None  # it is still with a person, when the workspace is resumed


async def test_redis_may_lose_its_connections(workspace, caller, operators, redis):
    follower = Follower(caller, await last_seq(caller))
    await eventually(lambda: pubsub.hub.watchers(workspace, caller.conversation))
    await redis.execute_command("CLIENT", "KILL", "TYPE", "pubsub")
    await inbox.reply(workspace, caller.conversation, operators[0], "still here")
    await eventually(lambda: follower.seen)
    assert follower.said() == ["still here"]
    follower.task.cancel()


async def test_without_a_person_there_is_nothing_to_follow(door, shop):
    caller = Caller(door, shop)
    await caller.says("what?")
    answer = await caller.get("events")
    assert (answer.status_code, answer.json()["code"]) == (409, "not_in_handoff")


async def test_too_many_streams_are_refused(workspace, caller):
    followers = [Follower(caller) for _ in range(4)]
    await eventually(lambda: pubsub.hub.watchers(workspace, caller.conversation) == 4)
    assert (await caller.get("events")).status_code == 429
    for follower in followers:
        follower.task.cancel()
    await eventually(lambda: pubsub.hub.watchers(workspace, caller.conversation) == 0)


async def test_streams_that_are_opened_at_once_are_no_more(workspace, caller, monkeypatch):
    """All have been let in before the first of them is there."""
    visit = await reads.session_by_token(caller.headers["Authorization"].removeprefix("Bearer "))
    opened = [api.events(visit, 0) for _ in range(30)]
    assert {await anext(one) for one in opened} == {b"retry: 2000\n\n"}
    for one in opened:
        await anext(one, None)
    assert pubsub.hub.watchers(workspace, caller.conversation) == 4
    for one in opened:
        await one.aclose()


@pytest.mark.parametrize("by", ["visitor", "api", "system", "erasure"])
async def test_whoever_ends_the_conversation_ends_its_streams(workspace, caller, by):
    followers = [Follower(caller) for _ in range(3)]
    await eventually(lambda: all(one.seen for one in followers))
    if by == "visitor":
        await caller.post("end")
    elif by == "erasure":
        await db.rows("DELETE FROM conversation WHERE id = $1", caller.conversation)
        pubsub.publish(workspace, caller.conversation)
    else:
        await changes.end(workspace, caller.conversation, by)
    await eventually(lambda: all(one.task.done() for one in followers))
    assert [one.status for one in followers] == ["ended"] * 3
    assert pubsub.hub.watchers(workspace, caller.conversation) == 0


async def test_a_process_that_stops_lets_its_streams_go(workspace, shop):
    async with served() as address:
        client = httpx.AsyncClient(base_url=address, timeout=240)
        caller = Caller(client, shop)
        await caller.says("what?")
        await caller.post("handoff")
        follower = Follower(caller)
        await eventually(lambda: follower.seen)
    await eventually(follower.task.done)
    await client.aclose()
    assert follower.status is None  # it did not end: come back elsewhere


async def test_a_change_that_is_rolled_back_wakes_nobody(workspace, caller, monkeypatch):
    told = []
    monkeypatch.setattr(pubsub, "_schedule", told.append)

    async def fail():
        async with db.transaction():
            await changes.add_message(workspace, caller.conversation, "agent", "never")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    assert told == []
