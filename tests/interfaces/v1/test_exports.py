"""/v1/exports: what is in a download, how it is resumed, and what is refused."""

import asyncio
import contextvars
import csv
import gzip
import io
import json
from datetime import timedelta

import httpx
import pytest

from leadwire.delivery import feed as events
from leadwire.domain.accounts import changes as accounts
from leadwire.domain.accounts.changes import workspaces
from leadwire.domain.bots import changes as bots
from leadwire.domain.conversations import changes as conversations
from leadwire.domain.exports import changes, reads
from leadwire.domain.leads import changes as leads
from leadwire.domain.leads.schema import LeadPatch
from leadwire.domain.listing import keyset
from leadwire.domain.privacy import erasure
from leadwire.infrastructure import clock, db, ids
from leadwire.interfaces.v1 import exports
from tests import jobs, make
from tests.delivery.test_feed import settled
from tests.serving import served
from tests.waiting import eventually


@pytest.fixture(autouse=True)
def two_at_a_time(monkeypatch):
    """Two rows at a time, so that a few are many."""
    monkeypatch.setattr(keyset, "AT_ONCE", 2)
    monkeypatch.setattr(reads, "_AT_ONCE", 2)
    monkeypatch.setattr(reads, "_PAGE", reads._PAGE.replace("LIMIT 500", "LIMIT 2"))
    yield
    assert not exports._downloads


@pytest.fixture
async def five(workspace, bot):
    """Five leads, of which the second has nasty texts."""
    made = []
    for number in range(5):
        text = '=1+1,"x"\n;@é' if number == 1 else f"Number {number}"
        made.append(await make.lead(workspace, bot, email=f"lead{number}@example.com", custom_fields={"text": text}))
    return made


async def created(client, kind, form="ndjson", **filters):
    answer = await client.post("/v1/exports", json={"type": kind, "format": form, "filter": filters})
    assert answer.status_code == 202, answer.text
    return answer.json()["data"]


async def downloaded(client, export, after=None, **headers):
    given = {"params": {"after": after}} if after is not None else {}
    answer = await client.get(f"/v1/exports/{export['id']}/download", headers=headers, **given)
    assert answer.status_code == 200, answer.text
    return answer


def lines(answer):
    return [json.loads(line) for line in answer.text.splitlines()]


def place(export, row):
    return ",".join(str(row[name]) for name in export["resume_by"])


async def test_leads_are_those_of_the_list_oldest_first(client, five):
    export = await created(client, "leads")
    assert export | {"created_at": 0, "expires_at": 0} == {
        "id": export["id"], "type": "leads", "format": "ndjson", "state": "ready", "rows": 0,
        "resume_by": ["created_at", "id"], "created_at": 0, "expires_at": 0,
    }  # fmt: skip
    answer = await downloaded(client, export)
    assert answer.headers["content-type"] == "application/x-ndjson"
    assert answer.headers["content-disposition"].startswith('attachment; filename="leads-')
    assert lines(answer) == (await client.get("/v1/leads?sort=created_at")).json()["data"]
    now = (await client.get(f"/v1/exports/{export['id']}")).json()["data"]
    assert (now["state"], now["rows"]) == ("completed", 5)
    assert (await downloaded(client, export)).content == answer.content


@pytest.mark.parametrize("form", ["ndjson", "csv"])
@pytest.mark.parametrize("kind", ["leads", "conversations", "messages", "events"])
async def test_a_download_goes_on_byte_for_byte_after_any_row(client, five, workspace, kind, form):
    for _ in range(3):
        await conversations.add_message(workspace, five[0].conversation_id, "user", 'a "b", c\nd')
    await settled()
    export = await created(client, kind, form)
    whole = (await downloaded(client, export)).content
    rows = (
        list(csv.DictReader(io.StringIO(whole.decode()))) if form == "csv" else [*map(json.loads, whole.splitlines())]
    )
    assert len(rows) > 4
    for number, row in enumerate(rows):
        rest = (await downloaded(client, export, place(export, row))).content
        assert whole.endswith(rest)
        if form == "csv":
            assert len(list(csv.reader(io.StringIO(rest.decode())))) == len(rows) - number - 1
        else:
            assert rest.count(b"\n") == len(rows) - number - 1


async def test_a_row_that_was_deleted_since_is_still_a_place(client, five, workspace):
    export = await created(client, "leads")
    rows = lines(await downloaded(client, export))
    await erasure.erase_lead(workspace, five[1].id)
    rest = lines(await downloaded(client, export, place(export, rows[1])))
    assert [row["id"] for row in rest] == [lead.id for lead in five[2:]]


@pytest.mark.parametrize("filters", [{}, {"updated_since": "2020-01-01"}])
async def test_what_is_created_later_is_not_in_it_and_what_is_changed_is_as_it_is_now(
    client, five, workspace, bot, filters
):
    export = await created(client, "leads", **filters)
    with clock.at(clock.now() + timedelta(seconds=1)):
        await make.lead(workspace, bot, email="later@example.com")
        await leads.update(workspace, five[0].id, LeadPatch(name="Grace"), unchanged={})
    rows = {row["id"]: row["name"] for row in lines(await downloaded(client, export))}
    assert rows == {lead.id: lead.name for lead in five} | {five[0].id: "Grace"}


async def test_the_filters_are_those_of_the_lists(client, five, workspace, bot):
    await leads.update(workspace, five[3].id, LeadPatch(score=90), unchanged={})
    other = await bots.create(workspace, "Other")
    await make.lead(workspace, other)
    for filters in (
        {"score_min": 50}, {"score_min": "50", "score_max": 100}, {"bot_id": other}, {"since": "2030-01-01"},
        {"until": "2030-01-01"}, {"updated_since": five[3].updated_at}, {"updated_since": "2020-01-01", "bot_id": bot},
    ):  # fmt: skip
        listed = (await client.get("/v1/leads", params={"sort": "created_at", **filters, "limit": 100})).json()
        if "updated_since" in filters:
            listed = (await client.get("/v1/leads", params={**filters, "limit": 100})).json()
        export = await created(client, "leads", **filters)
        assert lines(await downloaded(client, export)) == listed["data"], filters
    export = await created(client, "leads", updated_since="2020-01-01")
    assert export["resume_by"] == ["updated_at", "id"]
    rows = lines(await downloaded(client, export))
    assert lines(await downloaded(client, export, place(export, rows[2]))) == rows[3:]


async def test_messages_are_those_of_the_conversations_that_match(client, five, workspace, bot):
    await conversations.end(workspace, five[2].conversation_id, "api", "api")
    export = await created(client, "messages", status="ended")
    [row] = lines(await downloaded(client, export))
    shown = (await client.get(f"/v1/conversations/{five[2].conversation_id}")).json()["data"]
    [message] = shown["messages"]
    assert row == message | {
        "bot_id": bot, "conversation_id": shown["id"], "conversation_created_at": shown["created_at"], "seq": 1,
    }  # fmt: skip


async def test_what_is_said_later_is_not_in_it(client, five, workspace):
    export = await created(client, "messages", until="2030-01-01")
    before = (await downloaded(client, export)).content
    with clock.at(clock.now() + timedelta(seconds=1)):
        await conversations.add_message(workspace, five[0].conversation_id, "user", "Later")
    assert (await downloaded(client, export)).content == before


async def test_events_are_those_of_the_feed(client, five):
    await settled()
    export = await created(client, "events", types="lead.created,lead.created", since="2020-01-01")
    fed = (await client.get("/v1/events?types=lead.created&limit=100")).json()["data"]
    assert lines(await downloaded(client, export)) == fed
    assert len(fed) == 5


async def test_events_that_are_held_back_are_waited_for(client, workspace, bot, monkeypatch):
    outside, loop, looked, feed = contextvars.copy_context(), asyncio.get_running_loop(), asyncio.Event(), events.feed

    async def read(*args):
        found = await feed(*args)
        looked.set()
        return found

    monkeypatch.setattr(events, "feed", read)
    async with db.transaction():
        await make.somebody(workspace, bot)
        await loop.create_task(make.somebody(workspace, bot), context=outside)
        export = await loop.create_task(created(client, "events"), context=outside)
        download = loop.create_task(downloaded(client, export), context=outside)
        await looked.wait()
    held = await db.rows("SELECT id FROM event ORDER BY xact, position")
    assert [row["id"] for row in lines(await download)] == [row["id"] for row in held]


async def test_a_spreadsheet_runs_nothing(client, five):
    text = (await downloaded(client, await created(client, "leads", "csv"))).text
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [*rows[0]][:3] == ["id", "email", "name"]
    assert json.loads(rows[1]["custom_fields"].replace("\n", "\\n"))["text"].startswith("=1+1")
    assert all(not cell.startswith(("=", "+", "-", "@")) for row in rows for cell in row.values())


async def test_it_is_compressed_for_who_takes_that(client, five):
    export = await created(client, "leads")
    plain = await downloaded(client, export, **{"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    async with client.stream(
        "GET", f"/v1/exports/{export['id']}/download", headers={"Accept-Encoding": "br;q=1, gzip"}
    ) as answer:
        assert (answer.headers["content-encoding"], answer.headers["vary"]) == ("gzip", "accept-encoding")
        packed = b"".join([part async for part in answer.aiter_raw()])
    assert gzip.decompress(packed) == plain.content
    refused = await downloaded(client, export, **{"Accept-Encoding": "gzip;q=0"})
    assert "content-encoding" not in refused.headers


async def test_an_export_of_nothing_is_empty(client):
    assert (await downloaded(client, await created(client, "leads"))).content == b""
    head = (await downloaded(client, await created(client, "messages", "csv"))).text
    assert head.startswith("id,conversation_id,")
    assert head.count("\n") == 1
    for kind in ("leads", "messages", "events"):
        assert (await downloaded(client, await created(client, kind, since="2030-01-01"))).content == b""
    export = await created(client, "leads")
    answer = await client.head(f"/v1/exports/{export['id']}/download")
    assert (answer.status_code, answer.content) == (200, b"")


@pytest.mark.parametrize(
    ("body", "status", "pointer"),
    [
        ({}, 422, None),
        ({"type": "bots"}, 422, "/type"),
        ({"type": "leads", "format": "xml"}, 422, "/format"),
        ({"type": "leads", "filters": {}}, 422, "/filters"),
        ({"type": "leads", "filter": {"email": "ada@example.com"}}, 422, "/filter/email"),
        ({"type": "leads", "filter": {"limit": 1}}, 422, "/filter/limit"),
        ({"type": "leads", "filter": {"status": "ended"}}, 422, "/filter/status"),
        ({"type": "leads", "filter": {"score_min": "x"}}, 422, "/filter/score_min"),
        ({"type": "leads", "filter": {"since": "yesterday"}}, 422, "/filter/since"),
        ({"type": "leads", "filter": {"bot_id": "x"}}, 422, "/filter/bot_id"),
        ({"type": "leads", "filter": {"since": None}}, 422, "/filter/since"),
        ({"type": "leads", "filter": {"\u0000": "x"}}, 422, None),
        ({"type": "messages", "filter": {"status": "done"}}, 422, "/filter/status"),
        ({"type": "events", "filter": {"types": "audit.recorded"}}, 422, "/filter/types"),
        ({"type": "events", "filter": {"types": ""}}, 422, "/filter/types"),
        ({"type": "events", "filter": {"since": "x"}}, 422, "/filter/since"),
        ({"type": "events", "filter": {"since": ""}}, 422, "/filter/since"),
        ({"type": "events", "filter": {"since": "1970-01-01T00:00:00+01:00"}}, 422, "/filter/since"),
    ],
)
async def test_what_cannot_be_exported_is_named(client, body, status, pointer):
    answer = await client.post("/v1/exports", json=body)
    assert answer.status_code == status, answer.text
    if pointer:
        assert [fault["pointer"] for fault in answer.json()["errors"]] == [pointer]
    assert await db.value("SELECT count(*) FROM export_job") == 0


@pytest.mark.parametrize("kind", ["leads", "messages", "events"])
@pytest.mark.parametrize(
    "after", ["", "x", ",", "2026-01-02T03:04:05.678Z", "2026-01-02,lead_x", "2026-01-02,lead_x,1", "first", "%00,%00"]
)
async def test_a_place_that_is_none_is_named_before_anything_is_sent(client, kind, after):
    if kind == "events" and after in ("first", "2026-01-02T03:04:05.678Z"):
        return  # the feed's own
    export = await created(client, kind)
    answer = await client.get(f"/v1/exports/{export['id']}/download?after={after}")
    assert (answer.status_code, answer.json()["errors"][0]["parameter"]) == (400, "after"), answer.text


async def test_others_see_nothing_of_it(client, anonymous, five, workspace):
    export = await created(client, "leads")
    elsewhere = await accounts.create_workspace("Other")
    _, theirs = await accounts.create_key(elsewhere, "theirs")
    _, other = await accounts.create_key(workspace, "other", ["conversations:read", "events:read"])
    url = f"/v1/exports/{export['id']}"
    for key, status in ((theirs, 404), (other, 403)):
        headers = {"Authorization": f"Bearer {key}"}
        for method, path in (("GET", url), ("GET", f"{url}/download"), ("DELETE", url)):
            assert (await anonymous.request(method, path, headers=headers)).status_code == status
    answer = await anonymous.post("/v1/exports", json={"type": "leads"}, headers={"Authorization": f"Bearer {other}"})
    assert (answer.status_code, answer.json()["code"]) == (403, "insufficient_scope")
    for missing in (ids.new("exp"), "x", "%00"):
        assert (await client.get(f"/v1/exports/{missing}")).status_code == 404


async def test_canceled_expired_and_repeated_ones(client, five):
    export = await created(client, "leads")
    for _ in range(2):
        answer = await client.delete(f"/v1/exports/{export['id']}")
        assert (answer.status_code, answer.json()["data"]["state"]) == (200, "canceled")
    answer = await client.get(f"/v1/exports/{export['id']}/download")
    assert (answer.status_code, answer.json()["code"]) == (409, "export_canceled")
    old = await created(client, "leads")
    with clock.at(clock.now() + timedelta(hours=24)):
        answer = await client.get(f"/v1/exports/{old['id']}/download")
        assert (answer.status_code, answer.json()["code"]) == (409, "export_expired")
        assert (await client.get(f"/v1/exports/{old['id']}")).json()["data"]["state"] == "expired"
    await db.rows("UPDATE export_job SET created_at = created_at - interval '8 days'")
    await jobs.run("export_job.delete")
    assert (await client.get(f"/v1/exports/{old['id']}")).status_code == 404
    headers = {"Idempotency-Key": "once"}
    both = [await client.post("/v1/exports", json={"type": "leads"}, headers=headers) for _ in range(2)]
    assert both[0].json() == both[1].json()
    assert [answer.status_code for answer in both] == [202, 202]
    assert both[1].headers["idempotent-replayed"] == "true"


async def test_a_workspace_can_have_so_many_and_no_more(client, five):
    answers = await asyncio.gather(*(client.post("/v1/exports", json={"type": "leads"}) for _ in range(60)))
    made = [answer.json()["data"] for answer in answers if answer.status_code == 202]
    codes = {(answer.status_code, answer.json().get("code")) for answer in answers} - {(202, None)}
    assert (len(made), codes) == (changes.MOST_OPEN, {(409, "too_many_exports")})
    await downloaded(client, made[0])
    await client.delete(f"/v1/exports/{made[1]['id']}")
    for _ in range(2):
        await created(client, "leads")


@pytest.mark.parametrize("end", ["revoked", "rolled", "suspended", "networks", "expired"])
async def test_a_download_ends_with_its_key_and_with_the_export(client, five, workspace, api_key, monkeypatch, end):
    monkeypatch.setattr(exports, "_NOTED_EVERY", 1)
    export = await created(client, "leads")
    reached, go_on, note = asyncio.Event(), asyncio.Event(), changes.note

    async def noted(*args, **how):
        reached.set()
        await go_on.wait()
        await note(*args, **how)

    monkeypatch.setattr(changes, "note", noted)
    async with served() as url, httpx.AsyncClient(base_url=url, timeout=240) as real:
        real.headers["Authorization"] = f"Bearer {api_key}"
        download = asyncio.create_task(real.get(f"/v1/exports/{export['id']}/download"))
        await reached.wait()
        key = await db.value("SELECT id FROM api_key")
        if end == "suspended":
            await workspaces.set_suspended(workspace, suspended=True)
        elif end == "networks":
            await accounts.set_key_networks(workspace, key, ["203.0.113.0/24"])
        elif end == "expired":  # one of rows that change all the time has no other end
            await db.rows("UPDATE export_job SET expires_at = created_at")
        else:
            await (accounts.revoke_key(workspace, key) if end == "revoked" else accounts.roll_key(workspace, key, 0))
        go_on.set()
        with pytest.raises(httpx.RemoteProtocolError):
            await download


async def test_a_download_that_is_canceled_or_left_ends(client, five, workspace, api_key, monkeypatch, caplog):
    """A canceled one without an end of its body, so that nobody takes it for whole. The places are free again."""
    monkeypatch.setattr(exports, "_NOTED_EVERY", 1)
    export, other = await created(client, "leads"), await created(client, "leads")
    reached, go_on, note = asyncio.Semaphore(0), asyncio.Event(), changes.note

    async def noted(*args, **how):
        reached.release()
        await go_on.wait()
        await note(*args, **how)

    monkeypatch.setattr(changes, "note", noted)
    async with served() as url, httpx.AsyncClient(base_url=url, timeout=240) as real:
        real.headers["Authorization"] = f"Bearer {api_key}"
        canceled = asyncio.create_task(real.get(f"/v1/exports/{export['id']}/download"))
        left = asyncio.create_task(real.get(f"/v1/exports/{other['id']}/download"))
        for _ in range(2):
            await reached.acquire()
        answer = await client.get(f"/v1/exports/{export['id']}/download")
        assert (answer.status_code, answer.headers["retry-after"]) == (429, "5")
        left.cancel()
        await client.delete(f"/v1/exports/{export['id']}")
        go_on.set()
        with pytest.raises(httpx.RemoteProtocolError):
            await canceled
        await eventually(lambda: not exports._downloads)
    assert (await client.get(f"/v1/exports/{export['id']}")).json()["data"]["rows"] == 0
    assert not [record for record in caplog.records if record.name.startswith("uvicorn")]
