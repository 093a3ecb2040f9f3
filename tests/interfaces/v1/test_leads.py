"""/v1/leads as the specification words it: envelopes, filters, order, pages, totals, and every refusal."""

import asyncio
import re
from datetime import UTC, datetime, timedelta

import pytest

from leadwire.domain.accounts import changes as accounts
from leadwire.domain.bots import changes as bots
from leadwire.domain.leads import changes
from leadwire.domain.leads.schema import LeadPatch
from leadwire.infrastructure import clock, ids
from tests import make

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
FIELDS = {
    "id", "email", "name", "phone", "company", "score", "source", "custom_fields", "conversation_id", "bot_id",
    "created_at", "updated_at",
}  # fmt: skip


@pytest.fixture
async def leads(workspace, bot):
    """Five leads, an hour apart, oldest first; their scores are 0, 10, 20, 30, 40."""
    made = []
    for n in range(5):
        with clock.at(NOON + timedelta(hours=n)):
            made.append(await make.lead(workspace, bot, email=f"lead{n}@example.com", score=10 * n))
    return made


@pytest.fixture
async def elsewhere(database):
    """A lead of another workspace."""
    workspace = await accounts.create_workspace("Other")
    return await make.lead(workspace, await bots.create(workspace, "Bot"))


async def listed(client, query=""):
    """The numbers of the leads a list names, in its order; and its meta."""
    answer = await client.get(f"/v1/leads?{query}")
    assert answer.status_code == 200, answer.text
    body = answer.json()
    assert body.keys() == {"data", "meta"}
    assert body["meta"].keys() == {"total", "page", "per_page"}
    return [int(lead["email"][4]) for lead in body["data"]], body["meta"]


async def test_a_lead_has_every_field_of_the_specification(client, workspace, bot):
    with clock.at(NOON + timedelta(milliseconds=70)):
        lead = await make.lead(workspace, bot, phone="+44 20 7946 0000", score=7, custom_fields={"plan": "pro"})
    expected = {
        "id": lead.id,
        "email": "ada@example.com",
        "name": "Ada",
        "phone": "+442079460000",
        "company": None,
        "score": 7,
        "source": {"url": "/pricing", "campaign": "spring", "referrer": None},
        "custom_fields": {"plan": "pro"},
        "conversation_id": lead.conversation_id,
        "bot_id": bot,
        "created_at": "2026-01-02T12:00:00.070Z",
        "updated_at": "2026-01-02T12:00:00.070Z",
    }
    assert expected.keys() == FIELDS
    shown = await client.get(f"/v1/leads/{lead.id}")
    assert shown.json() == {"data": expected}
    assert shown.headers["content-type"] == "application/json"
    assert (await client.get("/v1/leads")).json()["data"] == [expected]
    assert re.fullmatch("lead_[0-9a-z]{26}", lead.id)
    assert re.fullmatch("conv_[0-9a-z]{26}", lead.conversation_id)


async def test_an_empty_list_is_a_list(client):
    answer = await client.get("/v1/leads")
    assert answer.json() == {"data": [], "meta": {"total": 0, "page": 1, "per_page": 20}}
    assert answer.headers["link"] == '</v1/leads?page=1>; rel="first", </v1/leads?page=1>; rel="last"'


async def test_the_newest_comes_first(client, leads):
    assert await listed(client) == ([4, 3, 2, 1, 0], {"total": 5, "page": 1, "per_page": 20})


async def test_at_one_moment_the_later_id_comes_first(client, workspace, bot):
    with clock.at(NOON):
        made = [(await make.lead(workspace, bot, email=f"lead{n}@example.com")).id for n in range(5)]
    found = (await client.get("/v1/leads")).json()["data"]
    assert [lead["id"] for lead in found] == made[::-1]


@pytest.mark.parametrize(
    ("query", "numbers", "total", "page", "per_page"),
    [
        ("limit=2", [4, 3], 5, 1, 2),
        ("limit=2&page=3", [0], 5, 3, 2),
        ("limit=2&page=4", [], 5, 4, 2),
        ("page=1000000000&limit=100", [], 5, 10**9, 100),
        ("limit=5", [4, 3, 2, 1, 0], 5, 1, 5),
        ("score_min=20&limit=1&page=2", [3], 3, 2, 1),
    ],
)
async def test_pages(client, leads, query, numbers, total, page, per_page):
    assert await listed(client, query) == (numbers, {"total": total, "page": page, "per_page": per_page})


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        ("score_min=20", [4, 3, 2]),
        ("score_max=20", [2, 1, 0]),
        ("score_min=10&score_max=10", [1]),
        ("score_min=30&score_max=10", []),
        ("score_min=-5", [4, 3, 2, 1, 0]),
        ("score_min=32768", []),
        ("score_min=2147483647", []),
        ("score_max=-32769", []),
        ("score_max=2147483647&score_min=-2147483648", [4, 3, 2, 1, 0]),
        ("since=2026-01-02T14:00:00.000Z", [4, 3]),
        ("since=2026-01-02T13:59:59.999Z", [4, 3, 2]),
        ("until=2026-01-02T14:00:00.000Z", [1, 0]),
        ("until=2026-01-02T14:00:00.001Z", [2, 1, 0]),
        ("since=2026-01-02T12:00:00Z&until=2026-01-02T14:00:00Z", [1]),
        ("since=2026-01-02T14:00:00&until=2026-01-02T14:00:00", []),
        ("since=2026-01-02", [4, 3, 2, 1, 0]),
        ("until=2026-01-02", []),
        ("since=2026-01-02T15:00:00%2B01:00", [4, 3]),
        ("since=2026-01-02T15:00:00+01:00", [4, 3]),
        ("since=2026-01-02T12:30:00-01:30", [4, 3]),
        ("since=2026-01-02 14:00:00z", [4, 3]),
        ("since=2026-01-02T14:00:00.000000%2B0000", [4, 3]),  # as openapi-generator's Python client writes it
        ("since=2026-01-02T15:00:00+0100", [4, 3]),
        ("since=20260102T140000Z", [4, 3]),
        ("since=20260101T240000Z", [4, 3, 2, 1, 0]),
        ("until=20260102", []),
        ("score_min=10&score_max=30&until=2026-01-02T15:00:00Z", [2, 1]),
    ],
)
async def test_filters(client, leads, query, numbers):
    found, meta = await listed(client, query)
    assert (found, meta["total"]) == (numbers, len(numbers))


async def test_only_the_leads_of_a_bot(client, workspace, bot, leads):
    second = await bots.create(workspace, "Second")
    await make.lead(workspace, second, email="lead9@example.com")
    assert (await listed(client, f"bot_id={second}"))[0] == [9]
    assert (await listed(client, f"bot_id={bot}&limit=1"))[1]["total"] == 5
    assert (await listed(client, f"bot_id={ids.new('bot')}"))[0] == []


async def test_what_was_emitted_as_the_last_moment_is_not_found_again(client, workspace, bot):
    lead = await make.lead(workspace, bot, email="lead0@example.com")
    assert (await listed(client, f"since={lead.created_at}"))[0] == []
    assert (await listed(client, f"until={lead.created_at}"))[0] == []


async def test_the_total_is_exact_after_every_change(client, workspace, bot, leads):
    async def totals():
        return [(await listed(client, query))[1]["total"] for query in ("", "score_min=20", "score_max=10")]

    assert await totals() == [5, 3, 2]
    added = await make.lead(workspace, bot, email="lead5@example.com", score=20)
    assert await totals() == [6, 4, 2]
    await client.patch(f"/v1/leads/{added.id}", json={"score": 5})
    assert await totals() == [6, 3, 3]
    await client.patch(f"/v1/leads/{added.id}", json={"name": "Six"})
    assert await totals() == [6, 3, 3]
    await client.delete(f"/v1/leads/{added.id}")
    assert await totals() == [5, 3, 2]
    await client.delete(f"/v1/leads/{leads[4].id}")
    assert await totals() == [4, 2, 2]


@pytest.mark.parametrize("way", ["page 1 until it is empty", "all ids first"])
async def test_a_list_is_deleted_as_the_document_says(client, workspace, bot, way):
    for number in range(47):
        await make.lead(workspace, bot, email=f"lead{number}@example.com")

    async def ids(page: int) -> list[str]:
        answer = await client.get(f"/v1/leads?limit=20&page={page}")
        return [lead["id"] for lead in answer.json()["data"]]

    if way == "all ids first":
        for lead in [lead for page in (1, 2, 3) for lead in await ids(page)]:
            assert (await client.delete(f"/v1/leads/{lead}")).status_code == 200
    while found := await ids(1):
        assert way != "all ids first"
        for lead in found:
            assert (await client.delete(f"/v1/leads/{lead}")).status_code == 200
    assert (await client.get("/v1/leads")).json()["meta"]["total"] == 0


async def test_the_link_header_leads_through_every_lead_once(client, leads):
    seen, path = [], "/v1/leads?limit=2&score_min=10&since=2026-01-01T00:00:00%2B00:00"
    while path:
        answer = await client.get(path)
        seen += [lead["score"] for lead in answer.json()["data"]]
        links = {rel: url for url, rel in re.findall(r'<([^>]*)>; rel="(\w+)"', answer.headers["link"])}
        path = links.get("next")
    assert seen == [40, 30, 20, 10]
    assert links.keys() == {"first", "prev", "last"}
    assert links["last"] == "/v1/leads?limit=2&score_min=10&since=2026-01-01T00%3A00%3A00%2B00%3A00&page=2"


async def test_past_the_end_prev_leads_back_to_the_last_page(client, leads):
    answer = await client.get("/v1/leads?limit=2&page=40")
    assert '</v1/leads?limit=2&page=3>; rel="prev"' in answer.headers["link"]
    assert 'rel="next"' not in answer.headers["link"]


async def test_head_answers_what_get_does_without_a_body(client, leads):
    for path in ("/v1/leads?limit=2", f"/v1/leads/{leads[0].id}"):
        head, get = await client.head(path), await client.get(path)
        assert (head.status_code, head.content) == (200, b"")
        for name in ("content-type", "content-length", "link", "etag"):
            assert head.headers.get(name) == get.headers.get(name)
    assert (await client.head("/v1/leads/lead_x")).status_code == 404


@pytest.mark.parametrize(
    "kind", ["application/json", "application/merge-patch+json", "Application/JSON; Charset=UTF-8"]
)
async def test_a_patch_answers_the_whole_lead(client, workspace, bot, kind):
    lead = await make.lead(workspace, bot, custom_fields={"plan": "pro", "old": "x"})
    answer = await client.patch(
        f"/v1/leads/{lead.id}",
        content='{"name": "Grace", "custom_fields": {"old": null, "seats": 5, "vip": true}}',
        headers={"Content-Type": kind},
    )
    assert answer.status_code == 200
    assert answer.json().keys() == {"data"}
    data = answer.json()["data"]
    assert data.keys() == FIELDS
    assert (data["name"], data["email"]) == ("Grace", "ada@example.com")
    assert data["custom_fields"] == {"plan": "pro", "seats": 5, "vip": True}
    again = await client.get(f"/v1/leads/{lead.id}")
    assert (again.json(), again.headers["etag"]) == (answer.json(), answer.headers["etag"])


@pytest.mark.parametrize(
    ("change", "after"),
    [
        ({}, {}),
        ({"name": None}, {"name": None}),
        ({"name": ""}, {"name": None}),
        ({"company": "  Acorn "}, {"company": "Acorn"}),
        ({"email": " Grace@EXAMPLE.com "}, {"email": "Grace@example.com"}),
        ({"email": None, "phone": "+1 555 010 0999"}, {"email": None, "phone": "+15550100999"}),
        ({"score": 0}, {"score": 0}),
        ({"score": 100}, {"score": 100}),
        ({"custom_fields": None}, {"custom_fields": {}}),
        ({"custom_fields": {}}, {}),
        ({"custom_fields": {"__proto__": "x", "plan": None}}, {"custom_fields": {"__proto__": "x"}}),
        ({"custom_fields": {"two lines": "a\nb\tc"}}, {"custom_fields": {"plan": "pro", "two lines": "a\nb\tc"}}),
        ({"name": "x" * 200}, {"name": "x" * 200}),
        ({"name": "Zoë 🦊 עדה"}, {"name": "Zoë 🦊 עדה"}),
    ],
)
async def test_what_a_patch_changes(client, workspace, bot, change, after):
    lead = await make.lead(workspace, bot, custom_fields={"plan": "pro"}, score=1)
    before = (await client.get(f"/v1/leads/{lead.id}")).json()["data"]
    answer = await client.patch(f"/v1/leads/{lead.id}", json=change)
    assert answer.status_code == 200, answer.text
    data = answer.json()["data"]
    assert data == before | after | {"updated_at": data["updated_at"]}
    assert (data["updated_at"] > before["updated_at"]) == any(before[name] != value for name, value in after.items())
    assert (await client.get(f"/v1/leads/{lead.id}")).json()["data"] == data


async def test_get_edit_patch(client, workspace, bot):
    lead = await make.lead(workspace, bot)
    data = (await client.get(f"/v1/leads/{lead.id}")).json()["data"]
    answer = await client.patch(f"/v1/leads/{lead.id}", json=data | {"name": "Grace"})
    changed = answer.json()["data"]
    assert (answer.status_code, changed) == (200, data | {"name": "Grace", "updated_at": changed["updated_at"]})
    again = await client.patch(f"/v1/leads/{lead.id}", json=data | {"name": "Grace"})
    assert (again.status_code, again.json()["data"]) == (200, changed), "sent once more, with the time it was read with"
    other = await client.patch(f"/v1/leads/{lead.id}", json=data | {"created_at": "2020-01-01T00:00:00.000Z"})
    assert (other.status_code, other.json()["code"]) == (422, "read_only_field")
    assert [fault["pointer"] for fault in other.json()["errors"]] == ["/created_at"]


async def test_an_address_of_another_lead_is_a_409_that_names_it(client, leads):
    answer = await client.patch(f"/v1/leads/{leads[1].id}", json={"email": "LEAD0@example.com"})
    assert (answer.status_code, answer.json()["code"]) == (409, "lead_conflict")
    assert answer.json()["conflicting_id"] == leads[0].id


async def test_a_deleted_lead_is_gone(client, workspace, bot):
    lead = await make.lead(workspace, bot)
    url = f"/v1/leads/{lead.id}"
    answer = await client.delete(url)
    assert (answer.status_code, answer.json()) == (200, {"data": {"id": lead.id, "deleted": True}})
    for attempt in (client.delete(url), client.get(url), client.patch(url, json={"name": "x"})):
        refused = await attempt
        assert (refused.status_code, refused.json()["code"]) == (404, "not_found")
    talk = (await client.get(f"/v1/conversations/{lead.conversation_id}")).json()["data"]
    assert (talk["lead"], talk["visitor"]) == (None, {"email": None, "name": None})


@pytest.mark.parametrize("method", ["GET", "HEAD", "PATCH", "DELETE"])
async def test_another_workspaces_lead_is_like_one_that_never_was(client, workspace, elsewhere, method):
    sent = {"json": {"name": "Mallory"}} if method == "PATCH" else {}
    answers = []
    for lead_id in (elsewhere.id, ids.new("lead")):
        answer = await client.request(method, f"/v1/leads/{lead_id}", **sent)
        body = answer.json() if answer.content else {}
        body.pop("request_id", None)
        answers.append((answer.status_code, body, set(answer.headers)))
    assert answers[0] == answers[1]
    assert answers[0][0] == 404


async def test_another_workspaces_leads_are_in_no_list(client, workspace, elsewhere):
    for query in ("", f"bot_id={elsewhere.bot_id}"):
        assert await listed(client, query) == ([], {"total": 0, "page": 1, "per_page": 20})


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("POST", "/v1/leads", {"GET", "HEAD", "OPTIONS"}),
        ("DELETE", "/v1/leads", {"GET", "HEAD", "OPTIONS"}),
        ("PUT", "/v1/leads/{id}", {"GET", "HEAD", "PATCH", "DELETE", "OPTIONS"}),
        ("POST", "/v1/leads/{id}", {"GET", "HEAD", "PATCH", "DELETE", "OPTIONS"}),
    ],
)
@pytest.mark.parametrize("headers", [{}, {"Idempotency-Key": "k"}])
async def test_a_method_that_is_not_there(client, workspace, bot, method, path, allowed, headers):
    answer = await client.request(method, path.format(id=ids.new("lead")), headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (405, "method_not_allowed")
    assert set(answer.headers["allow"].replace(" ", "").split(",")) == allowed


async def test_a_hundred_equal_patches_at_once_are_one_change(client, workspace, bot):
    lead = await make.lead(workspace, bot)
    await make.emitted(forget=True)
    answers = await asyncio.gather(
        *(client.patch(f"/v1/leads/{lead.id}", json={"name": "Grace", "score": 50}) for _ in range(100))
    )
    assert {answer.status_code for answer in answers} == {200}
    assert {answer.headers["etag"] for answer in answers} == {'"2"'}
    assert await make.kinds() == ["lead.updated"]


async def test_of_many_deletions_at_once_one_succeeds(client, workspace, bot):
    lead = await make.lead(workspace, bot)
    answers = await asyncio.gather(*(client.delete(f"/v1/leads/{lead.id}") for _ in range(20)))
    assert sorted(answer.status_code for answer in answers) == [200] + [404] * 19
    assert (await make.kinds()).count("lead.deleted") == 1


async def test_a_patch_against_a_deletion_is_before_it_or_too_late(client, workspace, bot):
    for n in range(10):
        lead = await make.lead(workspace, bot, email=f"p{n}@example.com")
        patched, deleted = await asyncio.gather(
            client.patch(f"/v1/leads/{lead.id}", json={"name": "Grace"}), client.delete(f"/v1/leads/{lead.id}")
        )
        assert patched.status_code in (200, 404)
        assert deleted.status_code == 200
        assert (await client.get(f"/v1/leads/{lead.id}")).status_code == 404


async def test_two_leads_cannot_take_one_address_at_once(client, workspace, bot, leads):
    answers = await asyncio.gather(
        *(client.patch(f"/v1/leads/{lead.id}", json={"email": "new@example.com"}) for lead in leads)
    )
    assert sorted(answer.status_code for answer in answers) == [200, 409, 409, 409, 409]
    assert {answer.json()["code"] for answer in answers if answer.status_code == 409} == {"lead_conflict"}


async def test_a_change_made_inside_is_what_the_list_shows(client, workspace, leads):
    await changes.update(workspace, leads[0].id, LeadPatch(score=99), unchanged={})
    assert (await listed(client, "score_min=99"))[0] == [0]
