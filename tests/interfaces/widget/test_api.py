"""The visitor channel: its answers, who may speak, and who may not."""

import asyncio
import hashlib

import msgspec
import pytest

from leadwire.domain.accounts import changes as accounts
from leadwire.domain.accounts.changes import workspaces as moves
from leadwire.domain.accounts.sign_in import tries
from leadwire.domain.bots import changes
from leadwire.domain.bots import reads as bots
from leadwire.domain.bots.changes import visitor_sessions
from leadwire.domain.conversations import reads
from leadwire.domain.conversations.changes import erasing
from leadwire.domain.workspaces import changes as workspaces
from leadwire.infrastructure import db, ids, rate_limit, settings
from leadwire.interfaces.widget import api
from tests import make, statements
from tests.domain.bots.conftest import published
from tests.interfaces.widget.conftest import SITE, Caller
from tests.waiting import eventually


async def test_opening_shows_the_first_turn_and_stores_nothing(anonymous, shop):
    answer = await anonymous.get(f"/widget/v1/bots/{shop.id}")
    assert answer.status_code == 200
    told = answer.json()
    assert len(told.pop("greeting")) == 16
    assert told == {
        "id": shop.id,
        "title": "Chat",
        "locale": "en",
        "color": "#0f766e",
        "messages": [{"content": "Your e-mail?"}],
        "input": {"kind": "email", "field": "email"},
    }
    assert await make.kinds() == []
    assert await db.value("SELECT count(*) FROM conversation") == 0
    again = await anonymous.get(f"/widget/v1/bots/{shop.id}", headers={"If-None-Match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert answer.headers.get_list("cache-control") == ["no-cache"]


async def test_a_suspended_workspace_has_closed_its_chat(workspace, caller, shop):
    await caller.says("what?")
    await workspaces.suspend(workspace)
    newcomer = Caller(caller.client, shop)
    closed = [
        await caller.client.get(f"/widget/v1/bots/{shop.id}", headers={"Origin": SITE}),
        await newcomer.says("hello"),
        await caller.says("are you there?"),
        await caller.get("messages"),
        await caller.post("end"),
    ]
    assert {(one.status_code, one.json()["code"], one.json()["detail"]) for one in closed} == {
        (403, "workspace_suspended", "This chat is closed.")
    }
    assert closed[0].headers["access-control-allow-origin"] == SITE
    assert await db.value("SELECT count(*) FROM message WHERE role = 'user'") == 1
    await workspaces.resume(workspace)
    assert (await caller.says("and now?")).status_code == 200


async def test_a_workspace_that_has_moved_says_where(workspace, caller, shop):
    await caller.says("what?")
    await moves.leave(workspace, "move", "https://b.example")
    for answer in (await caller.client.get(f"/widget/v1/bots/{shop.id}"), await caller.says("are you there?")):
        assert (answer.status_code, answer.json()["code"]) == (503, "workspace_moving")
        assert answer.json()["detail"] == "The workspace has moved to https://b.example."
        assert answer.headers["retry-after"] == "5"


async def test_a_conversation_with_everything_the_page_tells(workspace, caller, shop):
    answer = await caller.says(
        "ada@example.com",
        page_url="https://u:p@shop.example/pricing?utm_campaign=spring&x=1#top",
        referrer="https://search.example/",
        locale="en-GB",
        timezone="Europe/London",
    )
    assert answer.status_code == 201
    told = answer.json()
    assert told.keys() == {"conversation_id", "token", "status", "messages", "input", "captured"}
    assert [message["content"] for message in told["messages"]] == ["Your e-mail?", "ada@example.com", "How big?"]
    assert told["input"] == {"kind": "choice", "options": ["Small", "Large"], "field": "custom_fields.size"}
    assert len(told["token"]) == 43
    said = (await caller.says("Large")).json()
    assert said.keys() == {"status", "messages", "input", "captured"}
    assert (said["status"], said["input"]) == ("handoff", None)
    metadata = (await reads.detail(workspace, caller.conversation)).metadata
    assert metadata.source.url == "https://shop.example/pricing?utm_campaign=spring&x=1"
    assert (metadata.source.campaign, metadata.source.referrer) == ("spring", "https://search.example/")
    assert (metadata.locale, metadata.timezone) == ("en-GB", "Europe/London")


async def test_the_token_is_not_stored(caller):
    await caller.says("ada@example.com")
    token = caller.headers["Authorization"].removeprefix("Bearer ")
    for table in ("visit", "conversation", "event"):
        assert await db.value(f"SELECT count(*) FROM {table} t WHERE t::text LIKE '%' || $1 || '%'", token) == 0


async def test_a_repeated_post_gets_the_same_answer(caller):
    await caller.says("ada@example.com")
    answers = [await caller.says("Small", "the-same-one-again") for _ in range(3)]
    assert len({answer.text for answer in answers}) == 1
    assert answers[0].status_code == 200


async def test_a_start_that_was_stored_is_repeated_though_the_bot_is_paused_by_now(workspace, caller, shop):
    began = await caller.says("ada@example.com", "the-same-one-again")
    await changes.change_state(workspace, shop.id, "paused")
    again = Caller(caller.client, shop)
    told = await again.says("ada@example.com", "the-same-one-again")
    assert (told.status_code, told.json()["messages"]) == (201, began.json()["messages"])
    assert (await again.says("Large")).status_code == 200  # what it has begun goes on
    assert (await Caller(caller.client, shop).says("ada@example.com", "another-first-one")).status_code == 404
    await workspaces.suspend(workspace)
    assert (await Caller(caller.client, shop).says("ada@example.com", "the-same-one-again")).status_code == 404


async def test_reading_from_a_place(caller):
    await caller.says("ada@example.com")
    all_ = (await caller.get("messages")).json()
    assert [message["seq"] for message in all_["messages"]] == [1, 2, 3]
    assert all_["input"]["kind"] == "choice"
    assert [message["seq"] for message in (await caller.get("messages?after=2")).json()["messages"]] == [3]
    for wrong in ("x", "-1", "1.0", "", "9" * 30, "²"):
        answer = await caller.get(f"messages?after={wrong}")
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid_parameter")


async def test_a_visitor_asks_for_a_person_and_ends(caller):
    await caller.says("what?")
    assert (await caller.post("handoff")).json()["status"] == "handoff"
    assert (await caller.post("handoff")).json()["messages"] == []
    assert (await caller.post("end")).json() == {"status": "ended", "messages": [], "input": None}
    assert (await caller.post("end")).status_code == 200
    refused = await caller.says("wait")
    assert (refused.status_code, refused.json()["code"]) == (409, "conversation_ended")
    assert (await make.kinds()).count("conversation.ended") == 1


ASKS_FIRST = """
format = 1
start = "news"

[[nodes]]
type = "ask"
id = "news"
text = "May we store A?"
input = "choice"
options = [{ label = "Yes", consent = true }, { label = "No", consent = false }]
next = "end"

[[nodes]]
type = "end"
id = "end"
"""


async def test_the_first_words_are_an_answer_to_what_was_read(workspace, anonymous, shop):
    async def publish(flow):
        await changes.save_draft(workspace, shop.id, flow)
        await changes.publish(workspace, shop.id)
        return (await anonymous.get(f"/widget/v1/bots/{shop.id}")).json()["greeting"]

    read = await publish(ASKS_FIRST)
    assert await publish(ASKS_FIRST.replace('id = "end"\n', 'id = "end"\ntext = "Thanks."\n')) == read  # comes later
    first = Caller(anonymous, shop)
    began = await first.says("Yes", "the-first-one-of-all", greeting=read)
    assert began.status_code == 201
    now = await publish(ASKS_FIRST.replace("store A?", "store A, and sell it to B?"))
    assert now != read
    late = Caller(anonymous, shop)
    refused = await late.says("Yes", greeting=read)
    assert (refused.status_code, refused.json()["code"]) == (409, "greeting_changed")
    again = await Caller(anonymous, shop).says("Yes", "the-first-one-of-all", greeting=read)
    assert (again.status_code, again.json()["messages"]) == (201, began.json()["messages"])
    assert (await late.says("Yes", greeting=now)).status_code == 201
    assert (await Caller(anonymous, shop).says("No")).status_code == 201  # another client, which does not say
    rows = await db.rows("SELECT text, answer FROM consent ORDER BY id")
    new = "May we store A, and sell it to B?"
    assert [tuple(row) for row in rows] == [("May we store A?", "Yes"), (new, "Yes"), (new, "No")]


@pytest.mark.parametrize(
    "change",
    [('label = "No"', 'label = "Never"'), ('input = "choice"', 'input = "choice"\nsave_to = "custom_fields.news"')],
    ids=["another answer", "another field"],
)
async def test_another_first_question_is_another_greeting(workspace, anonymous, shop, change):
    greetings = set()
    for flow in (ASKS_FIRST, ASKS_FIRST.replace(*change)):
        await changes.save_draft(workspace, shop.id, flow)
        await changes.publish(workspace, shop.id)
        greetings.add((await anonymous.get(f"/widget/v1/bots/{shop.id}")).json()["greeting"])
    assert len(greetings) == 2


async def test_a_blocked_network_reaches_nobody_from_its_other_conversations(workspace, caller, shop):
    other = Caller(caller.client, shop)
    for one in (caller, other):
        await one.says("ada@example.com")
    await visitor_sessions.block(workspace, caller.conversation, ids.new("user"))
    before = await make.kinds()
    refused = [
        await other.says("are you there?"),
        await other.post("handoff"),
        await other.post("transcript"),
        await caller.post("rating", {"rating": 1, "comment": "Call me"}),  # of the one that was ended
    ]
    assert {(one.status_code, one.json()["code"]) for one in refused} == {(403, "visitor_blocked")}
    assert await make.kinds() == before
    assert await db.value("SELECT count(*) FROM conversation WHERE rating IS NOT NULL") == 0
    assert (await other.get("messages")).status_code == 200  # what was said to them is theirs to read, and to end
    assert (await other.post("end")).status_code == 200
    await visitor_sessions.unblock(workspace, caller.conversation)
    assert (await caller.post("rating", {"rating": 1})).status_code == 200


async def test_who_is_blocked_while_they_hold_a_message_back_reaches_nobody(workspace, caller, monkeypatch):
    monkeypatch.setattr(api, "_HELD", 0.0)
    await caller.says("ada@example.com")

    async def held():
        yield b'{"content": "are you there?", '
        await visitor_sessions.block(workspace, caller.conversation, ids.new("user"))
        yield b'"client_message_id": "0123456789abcdef"}'

    path = f"/widget/v1/conversations/{caller.conversation}/messages"
    headers = {**caller.headers, "Content-Type": "application/json"}
    answer = await caller.client.post(path, content=held(), headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (403, "visitor_blocked")


async def test_a_token_speaks_in_its_conversation_only(anonymous, shop, caller):
    await caller.says("ada@example.com")
    other = Caller(anonymous, shop)
    await other.says("bea@example.com")
    doors = (("GET", "messages"), ("POST", "messages"), ("POST", "end"), ("POST", "handoff"), ("GET", "events"))
    for method, path in doors:
        where = f"/widget/v1/conversations/{caller.conversation}/{path}"
        stranger = await anonymous.request(method, where, headers=other.headers)
        nobody = await anonymous.request(method, where)
        made_up = await anonymous.request(method, where, headers={"Authorization": "Bearer " + "x" * 43})
        assert [answer.status_code for answer in (stranger, nobody, made_up)] == [404, 401, 401]
    assert "bea@example.com" not in (await caller.get("messages")).text


async def test_an_api_key_is_no_visitors_token_and_the_other_way_round(client, caller, api_key):
    await caller.says("ada@example.com")
    where = f"/widget/v1/conversations/{caller.conversation}/messages"
    assert (await client.get(where, headers={"Authorization": f"Bearer {api_key}"})).status_code == 401
    assert (await client.get("/v1/leads", headers=caller.headers)).status_code == 401


@pytest.mark.parametrize("bot", ["bot_x", "x", "conv_01m7xhqxsjfwybxzjpzqasdkbw", None])
async def test_a_bot_that_is_not_there(anonymous, shop, bot):
    bot = bot or ids.new("bot")
    for method, path in (("GET", ""), ("POST", "/conversations")):
        answer = await anonymous.request(method, f"/widget/v1/bots/{bot}{path}", json={})
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


async def test_a_bot_that_is_not_published_is_not_there(anonymous, workspace):
    bot = await changes.create(workspace, "Draft")
    assert (await anonymous.get(f"/widget/v1/bots/{bot}")).status_code == 404


BAD = [
    {"content": ""},
    {"content": "x" * 4001},
    {"content": "a\0b"},
    {"content": 7},
    {"content": None},
    {"client_message_id": "short"},
    {"client_message_id": "x" * 65},
    {"client_message_id": "with space in it and long"},
    {"page_url": "x" * 2049},
    {"locale": "a\nb"},
    {"unknown": 1},
]


@pytest.mark.parametrize("bad", BAD, ids=str)
async def test_bad_input_is_told_and_stores_nothing(caller, bad):
    line = {"content": "hi", "client_message_id": "0123456789abcdef", **bad}
    answer = await caller.client.post(f"/widget/v1/bots/{caller.bot.id}/conversations", json=line)
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["errors"][0]["pointer"] == "/" + next(iter(bad))
    assert await make.kinds() == []


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [(b"{", "application/json", 400), (b"[]", "application/json", 422), (b'{"a": "\xff"}', "application/json", 400),
     (b"{}", "text/plain", 415), (b"x" * 70_000, "application/json", 413)],
)  # fmt: skip
async def test_a_body_that_cannot_be_read(caller, body, kind, status):
    where = f"/widget/v1/bots/{caller.bot.id}/conversations"
    answer = await caller.client.post(where, content=body, headers={"Content-Type": kind})
    assert answer.status_code == status
    assert await make.kinds() == []


@pytest.mark.parametrize("text", ["   ", "\u200b", "\u202e", "😀" * 2000, "' OR 1=1 --", "{{email}}", "<script>"])
async def test_odd_texts_are_texts(caller, text):
    await caller.says("ada@example.com")
    answer = await caller.says(text)
    assert answer.status_code == (422 if not text.strip() else 200), answer.text


async def test_a_page_that_is_no_page_is_forgotten(workspace, caller):
    await caller.says("what?", page_url="javascript:alert(1)", referrer="http://[")
    source = (await reads.detail(workspace, caller.conversation)).metadata.source
    assert (source.url, source.referrer) == (None, None)


async def test_only_the_bots_websites_may_show_it(anonymous, workspace, shop, caller, monkeypatch):
    await caller.says("ada@example.com")
    bot, talk = f"/widget/v1/bots/{shop.id}", f"/widget/v1/conversations/{caller.conversation}/messages"
    public = msgspec.structs.replace(settings.get(), public_url="https://leads.example/chat")
    for path in (bot, talk):
        good = await anonymous.get(path, headers={**caller.headers, "Origin": SITE})
        assert good.status_code == 200
        assert good.headers["access-control-allow-origin"] == SITE
        assert "access-control-allow-credentials" not in good.headers
        assert "Origin" in good.headers["vary"]
        for other in ("https://evil.example", f"{SITE}.evil.example", "http://shop.example", "null", "http://["):
            bad = await anonymous.get(path, headers={**caller.headers, "Origin": other})
            assert (bad.status_code, bad.json()["code"]) == (403, "origin_not_allowed")
            assert "access-control-allow-origin" not in bad.headers
        ours = {**caller.headers, "Origin": "https://leads.example"}
        with monkeypatch.context() as configured:  # what the request calls us is anybody's choice
            assert (await anonymous.get(path, headers={**ours, "Host": "leads.example"})).status_code == 403
            assert (await anonymous.get(path, headers={**caller.headers, "Origin": "http://test"})).status_code == 403
            configured.setattr(settings, "get", lambda: public)
            assert (await anonymous.get(path, headers=ours)).status_code == 200
    await changes.set_origins(workspace, shop.id, ["*"])
    assert (await anonymous.get(bot, headers={"Origin": "https://evil.example"})).status_code == 200


async def test_a_website_is_told_that_there_is_no_such_thing(anonymous, workspace, caller):
    """Without its origin in the answer a browser tells its page nothing, and the chat would ask again for ever."""
    await caller.says("ada@example.com")
    async with db.transaction():
        await erasing.delete(workspace, [caller.conversation])
    asking = {"Access-Control-Request-Method": "POST", "Origin": SITE}
    talk = f"/widget/v1/conversations/{caller.conversation}/messages"
    assert (await anonymous.options(talk, headers=asking)).headers["access-control-allow-origin"] == SITE
    for path, status in ((talk, 401), (f"/widget/v1/bots/{ids.new('bot')}", 404)):
        answer = await anonymous.get(path, headers={**caller.headers, "Origin": SITE})
        assert (answer.status_code, answer.headers.get("access-control-allow-origin")) == (status, SITE)


async def test_preflights_are_answered_for_the_bots_websites_only(anonymous, shop, caller):
    await caller.says("ada@example.com")
    asking = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type"}
    talk = f"conversations/{caller.conversation}"
    paths = (f"bots/{shop.id}", f"bots/{shop.id}/conversations", f"{talk}/messages", f"{talk}/events", f"{talk}/end")
    for path in paths:
        good = await anonymous.options(f"/widget/v1/{path}", headers={**asking, "Origin": SITE})
        assert good.status_code == 204
        assert good.headers["access-control-allow-origin"] == SITE
        assert "authorization" in good.headers["access-control-allow-headers"]
        bad = await anonymous.options(f"/widget/v1/{path}", headers={**asking, "Origin": "https://evil.example"})
        assert bad.status_code == 403


async def test_errors_carry_cors_too(anonymous, shop):
    headers = {"Origin": SITE}
    answer = await anonymous.post(f"/widget/v1/bots/{shop.id}/conversations", json={}, headers=headers)
    assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (422, SITE)


async def test_new_conversations_are_limited_per_network_and_bot(anonymous, workspace, shop):
    statuses = [(await Caller(anonymous, shop).says("what?")).status_code for _ in range(32)]
    assert statuses == [201] * 30 + [429] * 2
    other = await published(workspace, name="Other")
    assert (await Caller(anonymous, other).says("what?")).status_code == 201


async def test_messages_are_limited_and_it_is_said_when_to_come_back(caller):
    await caller.says("what?")
    await caller.post("handoff")
    answers = [await caller.says(f"line {n}") for n in range(62)]
    assert [answer.status_code for answer in answers].count(200) == 60
    assert answers[-1].status_code == 429
    assert int(answers[-1].headers["retry-after"]) >= 1


async def test_reading_is_limited_per_network_before_anything_is_looked_up(anonymous, shop, caller):
    await caller.says("what?")
    talk = f"/widget/v1/conversations/{caller.conversation}/messages"
    for method, path in (("GET", f"/widget/v1/bots/{shop.id}"), ("GET", talk), ("OPTIONS", talk)):
        for _ in range(70):
            answer = await anonymous.request(method, path, headers={**caller.headers, "Origin": SITE})
    assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (429, SITE)
    assert int(answer.headers["retry-after"]) >= 1
    with statements.sent() as sent:
        assert (await anonymous.get(talk, headers=caller.headers)).status_code == 429
    assert sent == []


async def test_guessing_tokens_is_limited_and_holds_up_nobody_with_a_right_one(anonymous, caller):
    await caller.says("what?")
    where = f"/widget/v1/conversations/{caller.conversation}/messages"
    guesses = [
        (await anonymous.get(where, headers={"Authorization": f"Bearer {n:043}"})).status_code for n in range(70)
    ]
    assert guesses == [401] * 60 + [429] * 10
    assert (await caller.get("messages")).status_code == 200


async def test_a_forwarded_address_counts_from_trusted_proxies_only(anonymous, shop, monkeypatch):
    async def statuses():
        return [
            (await Caller(anonymous, shop, **{"X-Forwarded-For": f"203.0.113.{n}"}).says("what?")).status_code
            for n in range(31)
        ]

    assert (await statuses())[-1] == 429
    monkeypatch.setenv("LEADWIRE_TRUSTED_PROXIES", "127.0.0.0/8")
    settings.get.cache_clear()
    try:
        assert await statuses() == [201] * 31
    finally:
        monkeypatch.undo()
        settings.get.cache_clear()


async def test_fifty_visitors_at_once(anonymous, workspace, shop):
    async def visit(number):
        caller = Caller(anonymous, shop)
        first = await caller.says(f"ada{number}@example.com")
        second = await caller.says("Small")
        return first.status_code, second.status_code

    bots._flows.clear()
    assert set(await asyncio.gather(*(visit(number) for number in range(25)))) == {(201, 200)}
    assert await db.value("SELECT count(*) FROM lead WHERE workspace_id = $1", workspace) == 25


async def test_another_workspaces_bot_answers_in_its_own(anonymous, shop):
    other = await accounts.create_workspace("Other")
    theirs = Caller(anonymous, await published(other))
    await theirs.says("ada@example.com")
    assert await db.value("SELECT workspace_id FROM lead") == other


async def test_redis_holds_nobodys_address(anonymous, caller, redis, monkeypatch):
    """Neither as it is nor as a hash that can be guessed: there are only so many addresses."""
    monkeypatch.setattr(rate_limit, "_SETTLE_EVERY", -1)
    address = anonymous._transport.client[0]
    await caller.says("hello")
    await caller.says("ada@example.com")
    await tries.count_stranger("ada@example.com", address)
    shared = [b"leadwire:rate:conversations:", b"leadwire:rate:messages:", b"leadwire:rate:sign-in-address:"]

    async def there() -> bool:
        keys = await redis.keys("*")
        return all(any(key.startswith(prefix) for key in keys) for prefix in shared)

    await eventually(there)
    for key in await redis.keys("*"):
        held = key + (await redis.dump(key) or b"")
        for personal in (address, "ada@example.com"):
            assert personal.encode() not in held
            assert hashlib.sha256(personal.encode()).hexdigest()[:32].encode() not in held
