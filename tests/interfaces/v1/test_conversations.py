"""/v1/conversations as the specification words it: envelopes, filters, order, pages, totals, and every refusal."""

import asyncio
import re
from datetime import UTC, datetime, timedelta

import pytest

from leadwire.domain.accounts import changes as accounts
from leadwire.domain.bots import changes as bots
from leadwire.domain.conversations import changes
from leadwire.domain.leads.schema import LeadPatch
from leadwire.infrastructure import clock, ids
from tests import make

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
LISTED = {"id", "bot_id", "status", "visitor", "messages_count", "created_at", "updated_at"}
METADATA = {
    "source", "locale", "timezone", "browser", "os", "flow_version", "variables", "ended_at", "ended_by", "end_reason",
    "handoff",
}  # fmt: skip


@pytest.fixture
async def talks(workspace, bot):
    """Four conversations, an hour apart, oldest first: active, handoff, ended, active."""
    made = []
    for n in range(4):
        with clock.at(NOON + timedelta(hours=n)):
            made.append(await make.conversation(workspace, bot))
    await changes.hand_off(workspace, made[1], "asked")
    await changes.end(workspace, made[2], "visitor")
    return made


@pytest.fixture
async def elsewhere(database):
    """A conversation of another workspace, and its bot."""
    workspace = await accounts.create_workspace("Other")
    bot = await bots.create(workspace, "Bot")
    return await make.conversation(workspace, bot), bot


async def listed(client, talks, query=""):
    """The numbers of the conversations a list names, in its order; and its meta."""
    answer = await client.get(f"/v1/conversations?{query}")
    assert answer.status_code == 200, answer.text
    body = answer.json()
    assert body.keys() == {"data", "meta"}
    assert body["meta"].keys() == {"total", "page", "per_page"}
    return [talks.index(talk["id"]) for talk in body["data"]], body["meta"]


async def test_a_listed_conversation_has_every_field_of_the_specification(client, workspace, bot):
    with clock.at(NOON):
        talk = await make.conversation(workspace, bot)
    with clock.at(NOON + timedelta(seconds=5)):
        await changes.capture_lead(workspace, talk, LeadPatch(email="ada@example.com", name="Ada"))
    expected = {
        "id": talk,
        "bot_id": bot,
        "status": "active",
        "visitor": {"email": "ada@example.com", "name": "Ada"},
        "messages_count": 1,
        "created_at": "2026-01-02T12:00:00.000Z",
        "updated_at": "2026-01-02T12:00:05.000Z",
    }
    assert expected.keys() == LISTED
    answer = await client.get("/v1/conversations")
    assert answer.json() == {"data": [expected], "meta": {"total": 1, "page": 1, "per_page": 20}}
    assert answer.headers["content-type"] == "application/json"
    assert re.fullmatch("conv_[0-9a-z]{26}", talk)


async def test_the_detail_has_messages_lead_and_metadata(client, workspace, bot):
    talk = await make.conversation(
        workspace, bot, locale="en-GB", timezone="Europe/London", browser="Firefox", os="BSD"
    )
    with clock.at(NOON):  # a clock that went back does not change the order
        await changes.add_message(workspace, talk, "bot", "Your e-mail?")
        await changes.add_message(workspace, talk, "user", "ada@example.com", answers="email")
    lead = await changes.capture_lead(workspace, talk, LeadPatch(email="ada@example.com"))
    await changes.hand_off(workspace, talk, "asked")
    await changes.add_message(workspace, talk, "agent", "Hello, Ada.")
    body = (await client.get(f"/v1/conversations/{talk}")).json()
    assert body.keys() == {"data"}
    data = body["data"]
    assert data.keys() == LISTED - {"messages_count"} | {"messages", "lead", "metadata"}
    assert (data["status"], data["visitor"]) == ("handoff", {"email": "ada@example.com", "name": None})
    assert [(message["role"], message["content"]) for message in data["messages"]] == [
        ("user", "Hello"),
        ("bot", "Your e-mail?"),
        ("user", "ada@example.com"),
        ("agent", "Hello, Ada."),
    ]
    for message in data["messages"]:
        assert message.keys() == {"id", "role", "content", "created_at"}
        assert re.fullmatch("msg_[0-9a-z]{26}", message["id"])
    assert data["lead"] == (await client.get(f"/v1/leads/{lead.id}")).json()["data"]
    metadata = data["metadata"]
    assert metadata.keys() == METADATA
    assert metadata["source"] == {"url": "/pricing", "campaign": "spring", "referrer": None}
    assert [metadata[name] for name in ("locale", "timezone", "browser", "os")] == [
        "en-GB", "Europe/London", "Firefox", "BSD",
    ]  # fmt: skip
    assert metadata["handoff"].keys() == {"reason", "requested_at"}
    assert (metadata["variables"], metadata["ended_at"], metadata["ended_by"]) == ({}, None, None)


async def test_without_a_lead_it_is_null(client, workspace, bot):
    talk = await make.conversation(workspace, bot)
    data = (await client.get(f"/v1/conversations/{talk}")).json()["data"]
    assert (data["lead"], data["visitor"], data["metadata"]["handoff"]) == (None, {"email": None, "name": None}, None)


async def test_an_empty_list_is_a_list(client):
    answer = await client.get("/v1/conversations")
    assert answer.json() == {"data": [], "meta": {"total": 0, "page": 1, "per_page": 20}}


@pytest.mark.parametrize(
    ("query", "numbers", "total", "page", "per_page"),
    [
        ("", [3, 2, 1, 0], 4, 1, 20),
        ("limit=3", [3, 2, 1], 4, 1, 3),
        ("limit=3&page=2", [0], 4, 2, 3),
        ("limit=3&page=3", [], 4, 3, 3),
        ("limit=100&page=1000000000", [], 4, 10**9, 100),
    ],
)
async def test_pages_newest_first(client, talks, query, numbers, total, page, per_page):
    assert await listed(client, talks, query) == (numbers, {"total": total, "page": page, "per_page": per_page})


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        ("status=active", [3, 0]),
        ("status=handoff", [1]),
        ("status=ended", [2]),
        ("since=2026-01-02T13:00:00.000Z", [3, 2]),
        ("since=2026-01-02T12:59:59.999Z", [3, 2, 1]),
        ("until=2026-01-02T13:00:00.000Z", [0]),
        ("since=2026-01-02T12:00:00Z&until=2026-01-02T15:00:00Z", [2, 1]),
        ("status=active&since=2026-01-02T12:00:00Z", [3]),
    ],
)
async def test_filters(client, talks, query, numbers):
    found, meta = await listed(client, talks, query)
    assert (found, meta["total"]) == (numbers, len(numbers))


async def test_only_the_conversations_of_a_bot(client, workspace, bot, talks):
    second = await bots.create(workspace, "Second")
    other = await make.conversation(workspace, second)
    assert (await listed(client, [other], f"bot_id={second}"))[0] == [0]
    assert (await listed(client, talks, f"bot_id={bot}"))[1]["total"] == 4
    assert (await listed(client, talks, f"bot_id={ids.new('bot')}"))[0] == []


async def test_the_total_is_exact_after_every_change(client, workspace, bot, talks):
    async def totals():
        queries = ("", "status=active", "status=handoff", "status=ended")
        return [(await listed(client, talks, query))[1]["total"] for query in queries]

    assert await totals() == [4, 2, 1, 1]
    talks.append(await make.conversation(workspace, bot))
    assert await totals() == [5, 3, 1, 1]
    await changes.hand_off(workspace, talks[0], "asked")
    assert await totals() == [5, 2, 2, 1]
    await client.post(f"/v1/conversations/{talks[0]}/end")
    assert await totals() == [5, 2, 1, 2]


async def test_the_link_header_leads_through_every_conversation_once(client, talks):
    seen, path = [], "/v1/conversations?limit=1&since=2026-01-02"
    while path:
        answer = await client.get(path)
        seen += [talks.index(talk["id"]) for talk in answer.json()["data"]]
        links = {rel: url for url, rel in re.findall(r'<([^>]*)>; rel="(\w+)"', answer.headers["link"])}
        path = links.get("next")
    assert seen == [3, 2, 1, 0]
    assert links["first"] == "/v1/conversations?limit=1&since=2026-01-02&page=1"


async def test_head_answers_what_get_does_without_a_body(client, talks):
    for path in ("/v1/conversations?limit=2", f"/v1/conversations/{talks[0]}"):
        head, get = await client.head(path), await client.get(path)
        assert (head.status_code, head.content) == (200, b"")
        for name in ("content-type", "content-length", "link"):
            assert head.headers.get(name) == get.headers.get(name)


@pytest.mark.parametrize("number", [0, 1, 3])
async def test_ending_an_open_conversation(client, workspace, talks, number):
    await make.emitted(forget=True)
    with clock.at(NOON + timedelta(days=1)):
        answer = await client.post(f"/v1/conversations/{talks[number]}/end")
    expected = {"data": {"id": talks[number], "status": "ended", "ended_at": "2026-01-03T12:00:00.000Z"}}
    assert (answer.status_code, answer.json()) == (200, expected)
    data = (await client.get(f"/v1/conversations/{talks[number]}")).json()["data"]
    assert (data["status"], data["metadata"]["ended_at"], data["metadata"]["ended_by"]) == (
        "ended",
        "2026-01-03T12:00:00.000Z",
        "api",
    )
    assert await make.kinds() == ["conversation.ended"]


async def test_ending_it_twice_answers_the_first_end(client, workspace, talks):
    await make.emitted(forget=True)
    with clock.at(NOON + timedelta(days=1)):
        first = await client.post(f"/v1/conversations/{talks[0]}/end")
    with clock.at(NOON + timedelta(days=2)):
        again = await client.post(f"/v1/conversations/{talks[0]}/end")
    assert (again.status_code, again.json()) == (200, first.json())
    assert await make.kinds() == ["conversation.ended"]


async def test_ending_fifty_times_at_once_tells_it_once(client, talks):
    await make.emitted(forget=True)
    answers = await asyncio.gather(*(client.post(f"/v1/conversations/{talks[0]}/end") for _ in range(50)))
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.text for answer in answers}) == 1
    assert await make.kinds() == ["conversation.ended"]


@pytest.mark.parametrize("kind", ["application/json", "text/plain", "multipart/form-data", ""])
async def test_a_body_of_the_end_is_ignored(client, talks, kind):
    answer = await client.post(f"/v1/conversations/{talks[0]}/end", content=b'{"x', headers={"Content-Type": kind})
    assert answer.status_code == 200


@pytest.mark.parametrize(("method", "path"), [("GET", ""), ("HEAD", ""), ("POST", "/end")])
async def test_another_workspaces_conversation_is_like_one_that_never_was(client, elsewhere, method, path):
    answers = []
    for talk in (elsewhere[0], ids.new("conv"), ids.new("lead"), "conv_x"):
        answer = await client.request(method, f"/v1/conversations/{talk}{path}")
        body = answer.json() if answer.content else {}
        body.pop("request_id", None)
        answers.append((answer.status_code, body, set(answer.headers)))
    assert answers[0][0] == 404
    assert all(answer == answers[0] for answer in answers)


async def test_another_workspaces_conversations_are_in_no_list(client, elsewhere):
    for query in ("", f"bot_id={elsewhere[1]}", "status=active"):
        assert await listed(client, [], query) == ([], {"total": 0, "page": 1, "per_page": 20})


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("POST", "", {"GET", "HEAD", "OPTIONS"}),
        ("DELETE", "/{id}", {"GET", "HEAD", "OPTIONS"}),
        ("PATCH", "/{id}", {"GET", "HEAD", "OPTIONS"}),
        ("GET", "/{id}/end", {"POST", "OPTIONS"}),
    ],
)
async def test_a_method_that_is_not_there(client, method, path, allowed):
    answer = await client.request(method, "/v1/conversations" + path.format(id=ids.new("conv")))
    assert (answer.status_code, answer.json()["code"]) == (405, "method_not_allowed")
    assert set(answer.headers["allow"].replace(" ", "").split(",")) == allowed
