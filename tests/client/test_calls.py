"""Every call, against the API itself."""

import asyncio
import pickle
from datetime import UTC, date, datetime

import httpx
import pytest

from leadwire.domain.accounts import changes as accounts
from leadwire.domain.conversations import changes as conversations
from leadwire_client import (
    ApiError,
    AsyncLeadwire,
    Conflict,
    Export,
    Forbidden,
    Invalid,
    Leadwire,
    NotFound,
    PreconditionFailed,
    Retry,
    Unauthenticated,
    Unreadable,
)
from tests import make
from tests.delivery.test_feed import settled
from tests.receiver import Receiver

AT = datetime(2026, 1, 2, tzinfo=UTC)
EXPORT = Export(
    id="exp_1", type="messages", format="ndjson", state="ready", rows=0, created_at=AT, expires_at=AT,
    resume_by=["conversation_created_at", "conversation_id", "seq"],
)  # fmt: skip


async def test_a_lead_from_list_to_deletion(api, workspace, bot):
    made = await make.lead(workspace, bot, score=70, custom_fields={"plan": "pro", "seats": 3})
    page = await api.leads.page(limit=5, score_min=50, bot_id=bot, since=date(2020, 1, 1))
    assert (page.total, page.page, page.per_page, page.has_next) == (1, 1, 5, False)
    [listed] = page.data
    assert (listed.id, listed.email, listed.etag) == (made.id, "ada@example.com", None)
    assert listed.created_at.tzinfo == UTC
    lead = await api.leads.get(made.id)
    assert lead.etag
    assert lead.custom_fields == {"plan": "pro", "seats": 3}
    changed = await api.leads.update(lead.id, name="Grace", phone=None, custom_fields={"plan": None, "stage": "won"})
    assert (changed.name, changed.custom_fields) == ("Grace", {"seats": 3, "stage": "won"})
    assert changed.etag != lead.etag
    with pytest.raises(ValueError, match="not JSON compliant"):
        await api.leads.update(lead.id, custom_fields={"seats": float("nan")})  # null would delete it
    assert (await api.leads.update(lead.id, name=None)).name is None
    assert (await api.leads.update(lead.id, custom_fields=None)).custom_fields == {}
    gone = await api.leads.delete(lead.id)
    assert (gone.id, gone.deleted) == (lead.id, True)
    with pytest.raises(NotFound) as missing:
        await api.leads.get(lead.id)
    assert (missing.value.status, missing.value.code) == (404, "not_found")


async def test_a_conversation_from_list_to_end(api, workspace, bot):
    lead = await make.lead(workspace, bot)
    await conversations.hand_off(workspace, lead.conversation_id, "asked for a person")
    [listed] = (await api.conversations.page(status="handoff")).data
    assert (listed.id, listed.visitor.email) == (lead.conversation_id, "ada@example.com")
    assert [one.id async for one in api.conversations.list(bot_id=bot)] == [listed.id]
    found = await api.conversations.get(listed.id)
    assert [(message.role, message.content) for message in found.messages] == [("user", "Hello")]
    assert found.lead is not None
    assert found.lead.id == lead.id
    assert found.metadata.handoff is not None
    assert found.metadata.source.campaign == "spring"
    ended = await api.conversations.end(listed.id)
    assert ended.status == "ended"
    assert (await api.conversations.end(listed.id)).ended_at == ended.ended_at
    assert (await api.conversations.get(listed.id)).metadata.ended_at == ended.ended_at


async def test_bots_messages_and_the_key_itself(api, workspace, bot):
    talk = await make.conversation(workspace, bot)
    [shown] = (await api.bots.page(limit=1)).data
    assert shown == await api.bots.get(bot)
    assert (shown.id, shown.name, shown.published_version) == (bot, "Bot", None)
    page = await api.conversations.messages(talk, limit=1)
    assert (page.total, [one.content for one in page.data]) == (1, ["Hello"])
    me = await api.me.get()
    assert (me.workspace.id, me.limits.burst, me.expires_at) == (workspace, 200, None)


async def test_events_are_read_back_and_followed(api, workspace, bot):
    lead = await make.lead(workspace, bot)
    await settled()
    told = [event async for event in api.events.list()]
    assert [event.kind for event in told][-1] == "lead.created"
    assert told[-1].data.id == lead.id
    assert await api.events.get(told[-1].id) == told[-1]
    page = await api.events.page(limit=1, types="lead.created", wait=0)
    assert (page.data, page.has_next, page.next_cursor) == ([told[-1]], False, told[-1].id)
    assert page.held_back_since is None
    following = api.events.list(cursor=told[-1].id, types="lead.updated", follow=True)
    coming = asyncio.create_task(anext(following))
    await api.leads.update(lead.id, name="Grace")
    event = await coming
    assert (event.kind, event.data.previous_attributes) == ("lead.updated", {"name": "Ada"})
    await following.aclose()
    with pytest.raises(Invalid) as refused:
        await api.events.page(cursor="evt_1")
    assert refused.value.errors[0].code == "invalid_cursor"


async def test_an_export_is_made_read_and_canceled(api, base_url, api_key, workspace, bot):
    made = [await make.lead(workspace, bot, email=f"{n}@example.com", name="Ada\u2028B") for n in range(3)]
    await settled()
    export = await api.exports.create("leads", filter={"score_min": 0})
    assert [lead.id async for lead in api.exports.rows(export)] == [lead.id for lead in made]
    assert (await api.exports.get(export.id)).state == "completed"
    messages = [one async for one in api.exports.rows(await api.exports.create("messages"))]
    assert [one.seq for one in messages] == [1, 1, 1]
    events = [
        one async for one in api.exports.rows(await api.exports.create("events", filter={"types": "lead.created"}))
    ]
    assert [one.data.id for one in events] == [lead.id for lead in made]
    rest = [one.id async for one in api.exports.rows(export, after=(await api.leads.get(made[0].id)))]
    assert rest == [lead.id for lead in made[1:]]

    def blocking() -> list[str]:
        with Leadwire(api_key, base_url) as client:
            return [lead.id for lead in client.exports.rows(client.exports.create("leads"))]

    assert await asyncio.to_thread(blocking) == [lead.id for lead in made]
    assert (await api.exports.cancel(export.id)).state == "canceled"
    with pytest.raises(Conflict, match="export_canceled"):
        [lead async for lead in api.exports.rows(export)]
    with pytest.raises(ValueError, match="ndjson"):
        api.exports.rows(await api.exports.create("leads", format="csv"))


def test_a_line_that_is_no_row_is_unreadable():
    page = httpx.MockTransport(lambda _: httpx.Response(200, content=b"<html>a proxy</html>\n"))
    with Leadwire("lw_1", "http://test", transport=page) as client, pytest.raises(Unreadable):
        [*client.exports.rows(EXPORT)]


@pytest.mark.parametrize(
    ("ask", "read"),
    [
        (lambda client: client.events.page(wait=30), 31.0),
        (lambda client: next(client.events.list(follow=True)), 21.0),
        (lambda client: client.events.page(), 1.0),
    ],
    ids=["a page", "follow", "at once"],
)
def test_an_answer_may_take_as_long_as_it_was_asked_to_wait_and_the_timeout(ask, read):
    timeouts = []

    def answer(request):
        timeouts.append(request.extensions["timeout"])
        return httpx.Response(500)

    transport = httpx.MockTransport(answer)
    client = Leadwire("lw_1", "http://test", timeout=1.0, transport=transport, retry=Retry(attempts=1))
    with client, pytest.raises(ApiError):
        ask(client)
    (timeout,) = timeouts
    assert (timeout["connect"], timeout["read"]) == (1.0, read)


@pytest.mark.parametrize("whole", [False, True], ids=["broken", "as if whole"])
@pytest.mark.parametrize("cut", [1.0, 1.5], ids=["behind a row", "within a row"])
async def test_a_download_that_breaks_off_is_resumed(cut, whole):
    """Each row comes once, also where a proxy ends as if it were whole what broke off."""
    lines = [
        b'{"id":"exp_%d","conversation_id":"conv_1","bot_id":"bot_1","role":"user","content":"x",'
        b'"created_at":"2026-01-02T00:00:00Z","seq":%d,"conversation_created_at":"2026-01-02T00:00:00Z"}\n' % (n, n)
        for n in range(1, 6)
    ]
    asked = []

    def answer(request):
        asked.append(request.url.params.get("after", "-"))
        begun = 0 if asked[-1] == "-" else int(asked[-1].rpartition(",")[2])
        rest = b"".join(lines[begun:])

        def parts():
            yield rest[: int(len(lines[0]) * cut)]
            if len(rest) > len(lines[0]) * cut and not whole:
                raise httpx.ReadError("cut", request=request)

        return httpx.Response(200, content=parts())

    with Leadwire("lw_1", "http://test", retry=Retry(first_wait=0), transport=httpx.MockTransport(answer)) as client:
        assert [row.seq for row in client.exports.rows(EXPORT)] == [1, 2, 3, 4, 5]
    assert asked == ["-", *(f"2026-01-02T00:00:00Z,conv_1,{n}" for n in (1, 2, 3, 4, 5))]


async def test_the_blocking_client_does_the_same(base_url, api_key, workspace, bot):
    made = await make.lead(workspace, bot)

    def use() -> None:
        with Leadwire(api_key, base_url) as client:
            [lead] = client.leads.list(until=datetime(2100, 1, 1, tzinfo=UTC))
            assert client.leads.page().data == [lead]
            read = client.leads.get(lead.id)
            changed = client.leads.update(lead.id, name="Grace", if_match=read)
            with pytest.raises(PreconditionFailed):
                client.leads.delete(lead.id, if_match=read)
            assert client.leads.delete(lead.id, if_match=changed).id == made.id
            [talk] = client.conversations.list(status="active")
            assert client.conversations.page().total == 1
            assert client.conversations.end(talk.id).id == client.conversations.get(talk.id).id

    await asyncio.to_thread(use)


async def test_every_refusal_is_an_error_of_its_own(api, in_process, workspace, bot):
    lead, other = [await make.lead(workspace, bot, email=email) for email in ("a@example.com", "b@example.com")]
    with pytest.raises(Conflict) as conflict:
        await api.leads.update(lead.id, email="b@example.com")
    assert (conflict.value.code, conflict.value.conflicting_id) == ("lead_conflict", other.id)
    with pytest.raises(Invalid) as invalid:
        await api.leads.update(lead.id, score=101, name="x" * 201)
    assert {fault.pointer for fault in invalid.value.errors} == {"/score", "/name"}
    assert invalid.value.request_id in str(invalid.value)
    assert "/score" in str(invalid.value)
    with pytest.raises(Invalid) as unknown:
        await api.leads.page(score_mni=3)
    assert [fault.parameter for fault in unknown.value.errors] == ["score_mni"]
    seen = await api.leads.get(lead.id)
    await api.leads.update(lead.id, name="Grace")
    with pytest.raises(PreconditionFailed):
        await api.leads.update(lead.id, name="Ada", if_match=seen)
    _, reader = await accounts.create_key(workspace, "reader", scopes=["leads:read"])
    async with AsyncLeadwire(reader, "http://test", transport=in_process) as client:
        with pytest.raises(Forbidden):
            await client.leads.delete(lead.id)
    async with AsyncLeadwire("nonsense", "http://test", transport=in_process) as client:
        with pytest.raises(Unauthenticated):
            await client.leads.page()


async def test_an_id_cannot_lead_to_another_path(api, workspace, bot):
    lead = await make.lead(workspace, bot)
    for strange in ("../conversations", f"{lead.id}/../{lead.id}", f"{lead.id}?x=1", f"{lead.id}#", "ü", "%2e%2e"):
        with pytest.raises(NotFound):
            await api.leads.get(strange)
    with pytest.raises(ValueError, match="id is empty"):
        await api.leads.delete("")
    assert (await api.leads.get(lead.id)).id == lead.id


async def test_mistakes_are_refused_before_anything_is_sent(api, workspace, bot):
    await make.lead(workspace, bot)
    [listed] = (await api.leads.page()).data
    with pytest.raises(ValueError, match="get it first"):
        await api.leads.update(listed.id, name="Grace", if_match=listed)
    with pytest.raises(ValueError, match="time zone"):
        await api.leads.page(since=datetime(2026, 1, 2))
    for key in ("", "lw_1\n", "lw 1", "clé"):
        with pytest.raises(ValueError, match="API key"):
            Leadwire(key, "http://test")


async def test_an_answer_that_is_not_the_apis(api_key):
    async with Receiver(answer=200) as receiver, AsyncLeadwire(api_key, receiver.url) as client:
        with pytest.raises(Unreadable):
            await client.leads.page()
        receiver.answer, receiver.extra_headers = 301, "Location: http://127.0.0.1:1/\r\n"
        with pytest.raises(ApiError) as moved:  # not followed: the key would go along
            await client.leads.page()
        assert (moved.value.status, moved.value.code, type(moved.value)) == (301, "http_301", ApiError)
        copy = pickle.loads(pickle.dumps(moved.value))
        assert str(copy) == str(moved.value)
