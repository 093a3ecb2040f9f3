"""`q` of the lists of /v1: words of leads and conversations, beside every other filter, with an exact total."""

from datetime import UTC, datetime, timedelta
from urllib.parse import quote

import pytest

from leadwire.domain.accounts import changes as accounts
from leadwire.domain.bots import changes as bots
from leadwire.domain.conversations import changes as conversations
from leadwire.domain.search import reads
from leadwire.infrastructure import clock, db
from tests import jobs, make
from tests.interfaces.v1.test_lists import get, refused, walked

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
PEOPLE = (
    ("Grace Hopper", "grace@navy.example", 90),
    ("Zoë Hopkins", "zoe@acme.example", 10),
    ("Ada", "ada@x.example", 50),
)


async def indexed():
    await jobs.run("search.take", "search")


@pytest.fixture
async def leads(workspace, bot):
    made = []
    for n, (name, email, score) in enumerate(PEOPLE):
        with clock.at(NOON + timedelta(hours=n)):
            made.append(await make.lead(workspace, bot, name=name, email=email, score=score))
    await indexed()
    return made


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("q=hop", [1, 0]),
        ("q=HOP&sort=created_at", [0, 1]),
        ("q=hop&sort=-score", [0, 1]),
        ("q=hop&score_min=50", [0]),
        ("q=hop&since=2026-01-02T12:30Z", [1]),
        ("q=hop&updated_since=2026-01-02T12:30Z", [1]),
        ("q=hop&updated_before=2026-01-02T12:30Z&sort=-updated_at", [0]),
        ("q=hop&email=zoe@acme.example", [1]),
        ("q=zoe", [1]),
        ("q=grace+hopp", [0]),
        ("q=hopp+grace", [0]),
        ('q="grace hopper"', [0]),
        ('q="hopkins zoe hopkins"', []),
        ("q=avy.exam", [0]),
        ("q=grace@navy.example", [0]),
        ("q=status:ended", []),
        ("q=nobody", []),
        ("q=%25", None),
        ("q='%26|!(", None),
    ],
)
async def test_leads(client, leads, bot, query, found):
    if found is None:
        refused(await client.get(f"/v1/leads?{query}"), "q", "no_words")
        return
    for more in ("", f"&bot_id={bot}"):
        answer = await get(client, query + more)
        assert [lead["id"] for lead in answer["data"]] == [leads[n].id for n in found]
        assert answer["meta"]["total"] == len(found)
        assert [lead for page in await walked(client, f"{query}{more}&limit=1") for lead in page["data"]] == answer[
            "data"
        ]


async def test_conversations_by_what_was_said(client, workspace, bot):
    made = [await make.conversation(workspace, bot) for _ in range(3)]
    for conversation, text in zip(made, ("Where is my refund?", "A refund, please", "Thank you"), strict=True):
        await conversations.add_message(workspace, conversation, "user", text)
    await conversations.end(workspace, made[0], "visitor")
    await indexed()
    for query, found in (
        ("q=refund", [1, 0]),
        ("q=REFUN&sort=created_at", [0, 1]),
        ("q=refund&status=ended", [0]),
        ("q=refund&status=handoff", []),
        (f"q=hello+refund&bot_id={bot}", [1, 0]),
        ('q="my refund"', [0]),
        ("q=efund", []),
    ):
        answer = await get(client, query, "conversations")
        assert [one["id"] for one in answer["data"]] == [made[n] for n in found], query
        assert answer["meta"]["total"] == len(found)
    await conversations.end(workspace, made[1], "visitor")  # before its document says so
    assert (await get(client, "q=refund&status=active", "conversations"))["meta"]["total"] == 0


async def test_what_was_deleted_or_is_of_another_workspace_is_not_found(client, workspace, leads):
    other = await accounts.create_workspace("Other")
    await make.lead(other, await bots.create(other, "Bot"), name="Hopper")
    await indexed()
    assert (await get(client, "q=hop"))["meta"]["total"] == 2
    await client.delete(f"/v1/leads/{leads[0].id}")
    assert (await get(client, "q=hop"))["meta"]["total"] == 1


async def test_words_that_too_many_have_are_refused(client, workspace, leads, monkeypatch):
    monkeypatch.setattr(reads, "FEW", 1)
    other = await bots.create(workspace, "Other")
    await make.lead(workspace, other, name="Hopper", email="hopper@example.com")
    await indexed()
    for cursor in ("", "&cursor=first"):
        refused(await client.get(f"/v1/leads?q=hop{cursor}"), "q", "too_many_found")
    assert (await get(client, f"q=hop&bot_id={other}"))["meta"]["total"] == 1


async def test_a_cursor_is_of_its_words(client, leads):
    cursor = (await get(client, "q=hop&limit=1&cursor=first"))["meta"]["next_cursor"]
    for query in ("", "q=hopp&", "q=x&"):
        refused(await client.get(f"/v1/leads?{query}cursor={cursor}"), "cursor", "foreign_cursor")


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ("", "no_words"),
        (quote("!? ' \\ \""), "no_words"),
        ("+".join("a" * 13), "too_many_words"),
        ("a" * 201, "invalid_parameter"),
        ("a%00", "invalid_parameter"),
        ("ada&q=ada", "repeated_parameter"),
    ],
)
@pytest.mark.parametrize("path", ["leads", "conversations"])
async def test_what_cannot_be_searched_for_is_refused_by_name(client, path, given, code):
    refused(await client.get(f"/v1/{path}?q={given}"), "q", code)


async def test_exports_take_no_words(client):
    answer = await client.post("/v1/exports", json={"type": "leads", "filter": {"q": "ada"}})
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/filter/q")


async def test_it_says_when_older_ones_are_not_found_yet(client, workspace, bot, leads):
    assert (await get(client, "q=hop"))["meta"]["complete"]
    assert "complete" not in (await get(client, "limit=1"))["meta"]
    await make.lead(workspace, bot, email="late@example.com")
    await db.rows("SELECT setval('search_due_number_seq', nextval('search_due_number_seq') + $1)", reads.BEHIND)
    assert not (await get(client, "q=hop"))["meta"]["complete"]
    assert (await get(client, "q=late"))["meta"] == {"total": 0, "page": 1, "per_page": 20, "complete": False}
    await db.rows("DELETE FROM search_due")
    assert (await get(client, "q=hop&cursor=first"))["meta"]["complete"]
