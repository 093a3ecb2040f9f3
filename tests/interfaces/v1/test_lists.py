"""Lists of /v1 beyond the specification: order, time of the last change, e-mail address, cursors."""

import asyncio
from datetime import UTC, datetime, timedelta
from urllib.parse import quote

import pytest

from leadwire.domain.accounts import changes as accounts
from leadwire.domain.bots import changes as bots
from leadwire.domain.conversations import changes as conversations
from leadwire.domain.leads import changes
from leadwire.domain.leads.schema import LeadPatch
from leadwire.infrastructure import clock, db
from tests import make

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
ORDERS = {
    "created_at": [0, 1, 2, 3, 4],
    "-created_at": [4, 3, 2, 1, 0],
    "score": [1, 3, 4, 2, 0],
    "-score": [0, 2, 4, 3, 1],
    "updated_at": [1, 2, 4, 0, 3],
    "-updated_at": [3, 0, 4, 2, 1],
}


@pytest.fixture
async def leads(workspace, bot):
    """Five leads, an hour apart; then 0 and 3 were changed, in this order."""
    made = []
    for n, score in enumerate((90, 10, 50, 10, 40)):
        with clock.at(NOON + timedelta(hours=n)):
            made.append(await make.lead(workspace, bot, email=f"lead{n}@example.com", score=score))
    for hour, n in ((10, 0), (11, 3)):
        with clock.at(NOON + timedelta(hours=hour)):
            await changes.update(workspace, made[n].id, LeadPatch(name="Grace"), unchanged={})
    return made


async def get(client, query, path="leads"):
    answer = await client.get(f"/v1/{path}?{query}")
    assert answer.status_code == 200, answer.text
    return answer.json()


async def numbers(client, query):
    return [int(lead["email"][4]) for lead in (await get(client, query))["data"]]


async def walked(client, query, path="leads", meanwhile=None):
    """The pages of a walk by cursor."""
    pages, cursor = [], "first"
    while cursor:
        found = await get(client, f"{query}&cursor={cursor}", path)
        pages.append(found)
        cursor = found["meta"]["next_cursor"]
        if meanwhile:
            await meanwhile(len(pages))
    return pages


def refused(answer, parameter, code):
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_parameter"), answer.text
    [fault] = answer.json()["errors"]
    assert (fault["parameter"], fault["code"]) == (parameter, code)


@pytest.mark.parametrize("sort", ORDERS)
async def test_an_order_by_page_and_by_cursor(client, leads, sort):
    assert await numbers(client, f"sort={sort}") == ORDERS[sort]
    assert await numbers(client, f"sort={sort}&limit=2&page=2") == ORDERS[sort][2:4]
    pages = await walked(client, f"sort={sort}&limit=2")
    assert [int(lead["email"][4]) for page in pages for lead in page["data"]] == ORDERS[sort]
    assert [page["meta"] | {"next_cursor": 0} for page in pages] == [
        {"total": 5, "page": number, "per_page": 2, "next_cursor": 0} for number in (1, 2, 3)
    ]


async def test_a_page_by_number_says_nothing_of_cursors(client, leads):
    assert (await get(client, "sort=score&limit=2"))["meta"] == {"total": 5, "page": 1, "per_page": 2}


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("updated_since=2026-01-02T13:00:00.000Z", [2, 4, 0, 3]),
        ("updated_since=2026-01-02T12:59:59.999Z&sort=-updated_at", [3, 0, 4, 2, 1]),
        ("updated_before=2026-01-02T22:00:00Z", [1, 2, 4]),
        ("updated_since=2026-01-02T16:00Z&updated_before=2026-01-02T23:00Z", [0]),
        ("updated_since=2026-01-02T13:00:00Z&score_min=50", [2, 0]),
        ("updated_since=2026-01-02T13:00:00Z&score_max=10", [3]),
        ("updated_since=2026-01-02T13:00:00Z&until=2026-01-02T14:00:00Z", [0]),
        ("updated_since=2030-01-01", []),
        ("email=LEAD3@example.COM", [3]),
        ("email=lead3@example.com&updated_since=2026-01-02T22:00Z", [3]),
        ("email=lead3@example.com&updated_since=2026-01-02T23:00Z", []),
        ("email=lead3@example.com&sort=score&score_min=11", []),
        ("email=lead%25@example.com", []),
        ("email=nobody@example.com", []),
        ("email=lead", []),
    ],
)
async def test_a_filter(client, leads, bot, query, found):
    for more in ("", f"&bot_id={bot}"):
        assert await numbers(client, query + more) == found
        answer = await get(client, query + more)
        assert answer["meta"]["total"] == len(found)
        assert [lead for page in await walked(client, f"{query}{more}&limit=1") for lead in page["data"]] == answer[
            "data"
        ]


async def test_an_address_is_looked_for_at_every_bot_of_the_workspace_and_no_other(client, workspace, bot):
    other, elsewhere = await bots.create(workspace, "Second"), await accounts.create_workspace("Other")
    mine = [await make.lead(workspace, one) for one in (bot, other)]
    await make.lead(elsewhere, await bots.create(elsewhere, "Bot"))
    found = await get(client, "email=ADA@example.com")
    assert [lead["id"] for lead in found["data"]] == [lead.id for lead in reversed(mine)]
    assert found["meta"]["total"] == 2
    assert (await get(client, f"email=ada@example.com&bot_id={other}"))["meta"]["total"] == 1


async def test_totals_of_what_has_changed_are_exact_after_every_change(client, workspace, bot, leads):
    async def totals():
        queries = ("updated_since=2026-01-02T20:00Z", "updated_before=2026-01-02T20:00Z", "email=lead1@example.com")
        return [(await get(client, query))["meta"]["total"] for query in queries]

    assert await totals() == [2, 3, 1]
    await client.patch(f"/v1/leads/{leads[1].id}", json={"email": "new@example.com"})
    assert await totals() == [3, 2, 0]
    await client.delete(f"/v1/leads/{leads[2].id}")
    assert await totals() == [3, 1, 0]
    await make.lead(workspace, bot, email="lead1@example.com")
    assert await totals() == [4, 1, 1]


async def test_the_order_of_changes_is_kept_through_captures_changes_and_deletions(client, workspace, bot, leads):
    await conversations.capture_lead(
        workspace,
        await make.conversation(workspace, bot),
        LeadPatch(email="lead4@example.com", company="Acme", score=60),
    )
    await client.patch(f"/v1/leads/{leads[2].id}", json={"score": 7, "custom_fields": {"a": "b"}})
    await client.delete(f"/v1/leads/{leads[0].id}")
    assert await numbers(client, "sort=updated_at") == [1, 3, 4, 2]
    kept = "SELECT workspace_id, updated_at, id, bot_id, score FROM {} ORDER BY id"
    assert await db.rows(kept.format("lead_by_update")) == await db.rows(kept.format("lead"))


async def test_a_walk_neither_skips_nor_repeats_when_rows_come_and_go(client, workspace, bot, leads):
    async def meanwhile(page):
        await make.lead(workspace, bot, email=f"new{page}@example.com")
        if page == 1:
            await client.delete(f"/v1/leads/{leads[4].id}")

    pages = await walked(client, "limit=2", meanwhile=meanwhile)
    assert [lead["email"][4] for page in pages for lead in page["data"]] == ["4", "3", "2", "1", "0"]
    assert {page["meta"]["total"] for page in pages} == {5}, "as it was when the walk began"


async def test_a_lead_that_changes_during_a_walk_by_update_comes_again_as_it_is_then(client, leads):
    async def meanwhile(page):
        if page == 1:
            await client.patch(f"/v1/leads/{leads[1].id}", json={"name": "Changed"})

    pages = await walked(client, "sort=updated_at&limit=2", meanwhile=meanwhile)
    found = [(lead["email"][4], lead["name"]) for page in pages for lead in page["data"]]
    assert found[-1] == ("1", "Changed")
    assert [number for number, _ in found] == ["1", "2", "4", "0", "3", "1"]


async def test_a_sync_that_overlaps_misses_no_change_that_was_committed_late(client, workspace, leads):
    """The documented way: from the newest `updated_at` that was seen, less five minutes."""
    seen: dict[str, str] = {}

    async def sync(since):
        for page in await walked(client, f"limit=2&updated_since={since}"):
            seen.update({lead["id"]: lead["updated_at"] for lead in page["data"]})

    await sync("1970-01-01")
    changed, go_on = asyncio.Event(), asyncio.Event()

    async def late():
        async with db.transaction():
            await changes.update(workspace, leads[1].id, LeadPatch(name="Late"), unchanged={})
            changed.set()
            await go_on.wait()

    held = asyncio.create_task(late())
    await changed.wait()
    await client.patch(f"/v1/leads/{leads[2].id}", json={"name": "Quick"})
    await sync(max(seen.values()))
    newest = max(seen.values())
    assert seen[leads[2].id] == newest, "the walk has gone past the change that is still open"
    go_on.set()
    await held
    now = {lead["id"]: lead["updated_at"] for lead in (await get(client, ""))["data"]}
    assert seen != now
    await sync(clock.iso(clock.parse(newest) - timedelta(minutes=5)))
    assert seen == now


async def test_the_last_change_of_a_lead_has_the_latest_time_whatever_the_clocks_say(client, workspace, bot, leads):
    """A copy keeps the newest state by `updated_at`; the server of the first change is ahead."""
    await make.emitted(forget=True)
    talk, mine = await make.conversation(workspace, bot), leads[1]
    with clock.at(NOON + timedelta(hours=20)):
        await changes.update(workspace, mine.id, LeadPatch(name="First"), unchanged={})
    with clock.at(NOON + timedelta(hours=19)):
        await changes.update(workspace, mine.id, LeadPatch(name="Second"), unchanged={})
        await conversations.capture_lead(workspace, talk, LeadPatch(email=mine.email, company="Acme"))
    told = [event["data"] for event in await make.emitted() if event["event"] == "lead.updated"]
    assert [(one["name"], one["company"]) for one in told] == [("First", None), ("Second", None), ("Second", "Acme")]
    assert sorted({one["updated_at"] for one in told}) == [one["updated_at"] for one in told]
    assert (await get(client, "sort=-updated_at&limit=1"))["data"] == [
        {name: value for name, value in told[2].items() if name != "previous_attributes"}
    ]


async def test_conversations_by_their_last_change(client, workspace, bot):
    made = []
    for n in range(3):
        with clock.at(NOON + timedelta(hours=n)):
            made.append(await make.conversation(workspace, bot))
    with clock.at(NOON + timedelta(hours=5)):
        await conversations.add_message(workspace, made[0], "user", "Still there?")

    async def listed(query):
        found = await get(client, query, "conversations")
        assert found["meta"]["total"] == len(found["data"])
        return [made.index(one["id"]) for one in found["data"]]

    assert await listed("sort=updated_at") == [1, 2, 0]
    assert await listed("sort=-updated_at") == [0, 2, 1]
    assert await listed("sort=created_at") == [0, 1, 2]
    assert await listed("updated_since=2026-01-02T13:00Z") == [2, 0]
    assert await listed(f"updated_before=2026-01-02T16:00Z&status=active&bot_id={bot}") == [1, 2]
    pages = await walked(client, "sort=updated_at&limit=1", "conversations")
    assert [made.index(one["id"]) for page in pages for one in page["data"]] == [1, 2, 0]
    with clock.at(NOON + timedelta(hours=6)):
        await conversations.end(workspace, made[1], "api")
    assert await listed("updated_since=2026-01-02T13:00Z") == [2, 0, 1]


async def test_the_erasure_of_a_person_is_a_change_of_their_conversation(client, workspace, bot):
    with clock.at(NOON):
        lead = await make.lead(workspace, bot)
    await client.delete(f"/v1/leads/{lead.id}")
    [found] = (await get(client, "updated_since=2026-01-03", "conversations"))["data"]
    assert (found["id"], found["visitor"]) == (lead.conversation_id, {"email": None, "name": None})


async def test_the_link_leads_through_a_walk(client, leads):
    answer = await client.get("/v1/leads?limit=4&cursor=first&sort=score")
    cursor = answer.json()["meta"]["next_cursor"]
    assert answer.links["next"]["url"] == f"/v1/leads?limit=4&sort=score&cursor={cursor}"
    assert answer.links.keys() == {"first", "next"}
    last = await client.get(answer.links["next"]["url"])
    assert (len(last.json()["data"]), last.json()["meta"]["next_cursor"], [*last.links]) == (1, None, ["first"])
    assert (await client.get(last.links["first"]["url"])).json()["data"] == answer.json()["data"]
    assert cursor == quote(cursor, safe="")


async def test_a_cursor_that_cannot_be_used(client, workspace, bot, leads):
    await conversations.end(workspace, await make.conversation(workspace, bot), "api")
    cursor = (await get(client, "limit=2&cursor=first"))["meta"]["next_cursor"]
    of_talks = (await get(client, "limit=1&cursor=first", "conversations"))["meta"]["next_cursor"]
    tampered = [cursor[:40] + ("A" if cursor[40] != "A" else "B") + cursor[41:], cursor[:-4], cursor + "AAAA"]
    for wrong in (*tampered, "x", "First", "AAAA" * 20, "=", "é", "next"):
        refused(await client.get(f"/v1/leads?limit=2&cursor={quote(wrong)}"), "cursor", "invalid_cursor")
    for query in ("sort=score&", "sort=created_at&", "score_min=1&", "updated_since=2020-01-01&", f"bot_id={bot}&"):
        refused(await client.get(f"/v1/leads?{query}cursor={cursor}"), "cursor", "foreign_cursor")
    refused(await client.get(f"/v1/leads?cursor={of_talks}"), "cursor", "foreign_cursor")
    assert await numbers(client, f"limit=3&cursor={cursor}") == [2, 1, 0], "another limit does no harm"
    refused(await client.get(f"/v1/leads?cursor={cursor}&page=1"), "page", "conflicting_parameter")
    refused(await client.get("/v1/leads?cursor=first&page=2"), "page", "conflicting_parameter")
    refused(await client.get(f"/v1/leads?cursor={cursor}&cursor={cursor}"), "cursor", "repeated_parameter")
    refused(await client.get("/v1/leads?cursor="), "cursor", "invalid_parameter")
    refused(await client.get(f"/v1/leads?cursor={'x' * 401}"), "cursor", "invalid_parameter")


async def test_a_cursor_of_another_workspace(client, leads):
    workspace = await accounts.create_workspace("Other")
    bot = await bots.create(workspace, "Bot")
    for n in range(2):
        await make.lead(workspace, bot, email=f"lead{n}@example.com")
    _, key = await accounts.create_key(workspace, "Other")
    theirs = await client.get("/v1/leads?limit=1&cursor=first", headers={"Authorization": f"Bearer {key}"})
    cursor = theirs.json()["meta"]["next_cursor"]
    refused(await client.get(f"/v1/leads?limit=1&cursor={cursor}"), "cursor", "foreign_cursor")


async def test_a_cursor_lasts_for_a_day_from_its_page(client, leads):
    with clock.at(clock.ago(hours=25)):
        old = (await get(client, "limit=1&cursor=first"))["meta"]["next_cursor"]
    refused(await client.get(f"/v1/leads?limit=1&cursor={old}"), "cursor", "expired_cursor")
    with clock.at(clock.ago(hours=23)):
        cursor = (await get(client, "limit=1&cursor=first"))["meta"]["next_cursor"]
    assert await numbers(client, f"limit=1&cursor={cursor}") == [3]


@pytest.mark.parametrize(
    ("query", "parameter", "code"),
    [
        ("updated_since=2026-01-01&sort=score", "sort", "conflicting_parameter"),
        ("updated_before=2026-01-01&sort=-created_at", "sort", "conflicting_parameter"),
        ("sort=name", "sort", "invalid_parameter"),
        ("sort=", "sort", "invalid_parameter"),
        ("sort=score&sort=score", "sort", "repeated_parameter"),
        ("updated_since=1767225600", "updated_since", "invalid_parameter"),
        ("updated_since=2026-01-01&updated_since=2026-01-01", "updated_since", "repeated_parameter"),
        ("email=a@example.com&email=b@example.com", "email", "repeated_parameter"),
        ("email=a%00@example.com", "email", "invalid_parameter"),
        ("email=", "email", "invalid_parameter"),  # not as if nobody had asked
        (f"email={'a' * 255}", "email", "invalid_parameter"),
    ],
)
async def test_what_does_not_go_is_refused_by_name(client, query, parameter, code):
    refused(await client.get(f"/v1/leads?{query}"), parameter, code)


async def test_conversations_have_no_score_and_no_address(client):
    refused(await client.get("/v1/conversations?sort=score"), "sort", "invalid_parameter")
    answer = await client.get("/v1/conversations?email=ada@example.com")
    assert (answer.status_code, answer.json()["code"]) == (400, "unknown_parameter")
