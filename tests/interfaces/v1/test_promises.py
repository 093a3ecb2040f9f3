"""Entity tags, idempotency keys and rate limits."""

import asyncio
import contextlib
import re
from contextvars import Context
from typing import Any

import pytest

from leadwire.domain.accounts import changes as accounts
from leadwire.domain.leads import changes
from leadwire.domain.leads.schema import LeadPatch
from leadwire.infrastructure import db, redis_pool
from leadwire.infrastructure.errors import Conflict, RateLimited
from leadwire.infrastructure.rate_limit import RateLimit
from tests import make


async def test_an_entity_tag_saves_a_transfer_and_guards_a_change(client, workspace, bot):
    lead = await make.lead(workspace, bot)
    url = f"/v1/leads/{lead.id}"
    tag = (await client.get(url)).headers["etag"]
    for known in (tag, f'"x", {tag}', "*", f"W/{tag}"):
        same = await client.get(url, headers={"If-None-Match": known})
        assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", tag)
    changed = await client.patch(url, json={"name": "Grace"}, headers={"If-Match": tag})
    assert changed.status_code == 200
    assert changed.headers["etag"] != tag
    assert (await client.get(url, headers={"If-None-Match": tag})).status_code == 200
    for stale in (tag, f"W/{changed.headers['etag']}", '""', '"9999999999999", "a,b"', f'"x",, W/{tag}'):
        for answer in (
            await client.patch(url, json={"name": "Mallory"}, headers={"If-Match": stale}),
            await client.delete(url, headers={"If-Match": stale}),
        ):
            assert (answer.status_code, answer.json()["code"]) == (412, "precondition_failed")
    for malformed in ("garbage", "1", '"1', '1"', '"1" "2"', 'w/"1"', '"a b"', '*, "1"'):
        for answer in (
            await client.patch(url, json={"name": "Mallory"}, headers={"If-Match": malformed}),
            await client.delete(url, headers={"If-Match": malformed}),
        ):
            assert (answer.status_code, answer.json()["code"]) == (400, "invalid_parameter")
    assert (await client.delete(url, headers={"If-Match": "*"})).status_code == 200


async def test_entity_tags_may_come_in_several_lines(client, workspace, bot):
    lead = await make.lead(workspace, bot)
    url = f"/v1/leads/{lead.id}"
    for name, method, status in (("If-None-Match", "GET", 304), ("If-Match", "PATCH", 200)):
        lines = [(name, '"7"'), (name, '"1"'), ("Content-Type", "application/json")]
        answer = await client.request(method, url, content=b"{}" if method == "PATCH" else None, headers=lines)
        assert answer.status_code == status


async def test_a_request_sent_again_gets_the_first_answer_again(client, workspace, bot):
    lead = await make.lead(workspace, bot)
    await make.emitted(forget=True)
    url, headers = f"/v1/leads/{lead.id}", {"Idempotency-Key": "once"}
    first = await client.patch(url, json={"name": "Grace"}, headers=headers)
    await client.patch(url, json={"name": "Ada"})
    again = await client.patch(url, json={"name": "Grace"}, headers=headers)
    assert (again.status_code, again.json(), again.headers["etag"]) == (200, first.json(), first.headers["etag"])
    assert again.headers["idempotent-replayed"] == "true"
    assert "idempotent-replayed" not in first.headers
    assert (await client.get(url)).json()["data"]["name"] == "Ada"
    assert len(await make.emitted()) == 2
    other = await client.patch(url, json={"name": "Eve"}, headers=headers)
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_mismatch")


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ({"headers": {"If-Match": '"999"'}}, {"headers": {"If-Match": '"1"'}}),
        ({"headers": {"Content-Type": "text/plain"}}, {}),
        ({"headers": {"Content-Type": "application/json; charset=latin1"}}, {}),
        ({"headers": {"Content-Encoding": "gzip"}}, {}),
        ({"params": {"dry": "1"}}, {}),
    ],
)
async def test_a_request_that_was_mended_is_another(client, workspace, bot, first, then):
    """The refusal of the first was sent again, whatever had been mended but the body."""
    lead = await make.lead(workspace, bot)
    json, own = {"Content-Type": "application/json"}, {"Idempotency-Key": "mended"}
    answers = [
        await client.patch(f"/v1/leads/{lead.id}", content=b'{"score":5}', **{**sent, "headers": json | own | headers})
        for sent, headers in ((each, each.get("headers", {})) for each in (first, first, then))
    ]
    assert 400 <= answers[0].status_code == answers[1].status_code != 422
    assert (answers[2].status_code, answers[2].json()["code"]) == (422, "idempotency_mismatch")


@pytest.mark.parametrize("kind", ["application/merge-patch+json", "application/json; charset=utf-8"])
async def test_either_type_of_json_is_the_same_request(client, workspace, bot, kind):
    url, own = f"/v1/leads/{(await make.lead(workspace, bot)).id}", {"Idempotency-Key": "kind"}
    await client.patch(url, json={"score": 5}, headers=own)
    again = await client.patch(url, content=b'{"score":5}', headers={**own, "Content-Type": kind})
    assert (again.status_code, again.headers["idempotent-replayed"]) == (200, "true")


async def test_a_deletion_sent_again_is_not_a_404(client, workspace, bot):
    lead = await make.lead(workspace, bot)
    headers = {"Idempotency-Key": "gone"}
    answers = [await client.delete(f"/v1/leads/{lead.id}", headers=headers) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 200]
    assert answers[0].json() == answers[1].json()


@pytest.mark.parametrize(
    ("sent", "status", "code"),
    [
        ({"json": {"score": 101}}, 422, "validation_error"),
        ({"json": {"email": "bob@example.com"}}, 409, "lead_conflict"),
        ({"json": {"score": 3}, "headers": {"If-Match": '"999"'}}, 412, "precondition_failed"),
        ({"content": b"{", "headers": {"Content-Type": "application/json"}}, 400, "malformed_json"),
        ({"content": b"{}"}, 415, "unsupported_media_type"),
        ({"content": b"x" * 70_000, "headers": {"Content-Type": "application/json"}}, 413, "body_too_large"),
    ],
)
async def test_an_error_is_the_first_answer_too(client, workspace, bot, sent, status, code):
    lead = await make.lead(workspace, bot)
    other = await make.lead(workspace, bot, email="bob@example.com")
    await make.emitted(forget=True)
    url, sent = f"/v1/leads/{lead.id}", {**sent, "headers": {**sent.get("headers", {}), "Idempotency-Key": "e"}}
    first = await client.patch(url, **sent)
    await client.delete(f"/v1/leads/{other.id}")  # now it would not be a conflict
    again = await client.patch(url, **sent)
    assert (first.status_code, first.json()["code"]) == (again.status_code, again.json()["code"]) == (status, code)
    assert first.content == again.content
    own = {"content-type", "content-length", "accept-patch", "connection"}
    assert {name: first.headers.get(name) for name in own} == {name: again.headers.get(name) for name in own}
    assert ("idempotent-replayed" in first.headers, again.headers["idempotent-replayed"]) == (False, "true")
    changed = await client.patch(url, json={"score": 100}, headers={"Idempotency-Key": "e"})
    assert (changed.status_code, changed.json()["code"]) == (422, "idempotency_mismatch")
    assert (await client.get(url)).json()["data"]["score"] == 0
    assert await make.kinds() == ["lead.deleted"]


@pytest.mark.parametrize("strange", ["lead_x", "%00", "lead_%00", "x" * 4096, "%F0%9F%98%80"])
async def test_that_there_is_nothing_is_the_first_answer_too(client, strange):
    headers = {"Idempotency-Key": "n"}
    answers = [await client.delete(f"/v1/leads/{strange}", headers=headers) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [404, 404]
    assert answers[1].headers["idempotent-replayed"] == "true"


async def test_what_the_operation_wrote_before_its_error_is_undone(client, workspace, bot, monkeypatch):
    lead = await make.lead(workspace, bot)
    await make.emitted(forget=True)
    update, committed = changes.update, []

    async def write_and_refuse(*given: Any, **named: Any) -> Any:
        await update(*given, **named)
        db.after_commit(lambda: committed.append(1))
        await db.rows("SELECT 1 FROM lead WHERE id = $1 AND 1 / (version - version) = 1", lead.id)

    async def refuse(*given: Any, **named: Any) -> Any:
        with contextlib.suppress(Exception):
            await write_and_refuse(*given, **named)
        raise Conflict("Not now.")

    monkeypatch.setattr(changes, "update", refuse)
    url, headers = f"/v1/leads/{lead.id}", {"Idempotency-Key": "undo"}
    answers = [await client.patch(url, json={"name": "Grace"}, headers=headers) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [409, 409]
    assert answers[1].headers["idempotent-replayed"] == "true"
    assert (await client.get(url)).json()["data"]["name"] == "Ada"
    assert (await make.emitted(), committed) == ([], [])


async def test_a_failure_of_ours_is_not_remembered(client, workspace, bot, monkeypatch):
    lead = await make.lead(workspace, bot)
    url, headers = f"/v1/leads/{lead.id}", {"Idempotency-Key": "again"}

    async def fail(*_: Any, **__: Any) -> Any:
        raise ZeroDivisionError

    with monkeypatch.context() as broken:
        broken.setattr(changes, "update", fail)
        assert (await client.patch(url, json={"score": 9}, headers=headers)).status_code == 500
    assert (await client.patch(url, json={"score": 9}, headers=headers)).json()["data"]["score"] == 9


async def test_what_is_refused_before_the_operation_begins_is_not_remembered(client, workspace, bot):
    lead = await make.lead(workspace, bot)
    url, headers = f"/v1/leads/{lead.id}", {"Idempotency-Key": "early"}
    _, reader = await accounts.create_key(workspace, "reader", scopes=("leads:read",))
    for wrong, status in (("nonsense", 401), (reader, 403)):
        answer = await client.patch(url, json={}, headers={**headers, "Authorization": f"Bearer {wrong}"})
        assert answer.status_code == status
    assert await db.value("SELECT count(*) FROM idempotent_answer") == 0
    assert (await client.patch(url, json={}, headers=headers)).status_code == 200


async def test_what_the_operation_refuses_a_key_is_not_remembered(anonymous, workspace):
    """An export needs the scope of what it has, so that its body is read first."""
    _, reader = await accounts.create_key(workspace, "reader", scopes=("conversations:read",))
    headers = {"Authorization": f"Bearer {reader}", "Idempotency-Key": "kind"}
    for _ in range(2):
        answer = await anonymous.post("/v1/exports", json={"type": "leads"}, headers=headers)
        assert (answer.status_code, answer.headers.get("idempotent-replayed")) == (403, None)
    answer = await anonymous.post("/v1/exports", json={"type": "messages"}, headers=headers)
    assert answer.status_code == 202, answer.text


async def test_a_conflict_under_an_idempotency_key_is_still_a_conflict(client, workspace, bot):
    holder = await make.lead(workspace, bot)
    other = await make.lead(workspace, bot, email="bob@example.com")
    answer = await client.patch(
        f"/v1/leads/{other.id}", json={"email": "ada@example.com"}, headers={"Idempotency-Key": "c"}
    )
    assert (answer.status_code, answer.json()["conflicting_id"]) == (409, holder.id)


async def test_the_same_request_while_it_runs_is_told_so(client, workspace, bot):
    lead = await make.lead(workspace, bot)
    headers = {"Idempotency-Key": "busy"}
    async with db.transaction():
        await db.rows("SELECT 1 FROM lead WHERE id = $1 FOR UPDATE", lead.id)
        both = [
            asyncio.get_running_loop().create_task(  # in a context of its own: not in our transaction
                client.patch(f"/v1/leads/{lead.id}", json={"name": "Grace"}, headers=headers), context=Context()
            )
            for _ in range(2)
        ]
        (told,), (held,) = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)  # whichever came second
    assert (told.result().status_code, told.result().json()["code"]) == (409, "idempotency_in_progress")
    assert (await held).status_code == 200


@pytest.mark.parametrize("key", ["", "x" * 256, "é", "a\tb"])
async def test_an_idempotency_key_that_cannot_be_used(client, workspace, bot, key):
    lead = await make.lead(workspace, bot)
    answer = await client.patch(f"/v1/leads/{lead.id}", json={}, headers=[(b"Idempotency-Key", key.encode())])
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_parameter")


async def test_two_keys_do_not_share_idempotency_keys(client, workspace, bot):
    lead = await make.lead(workspace, bot)
    _, second = await accounts.create_key(workspace, "second")
    headers = {"Idempotency-Key": "mine"}
    await client.patch(f"/v1/leads/{lead.id}", json={"name": "One"}, headers=headers)
    headers["Authorization"] = f"Bearer {second}"
    answer = await client.patch(f"/v1/leads/{lead.id}", json={"name": "Two"}, headers=headers)
    assert answer.json()["data"]["name"] == "Two"


async def test_an_erased_lead_takes_its_stored_answers_along(client, workspace, bot):
    lead = await make.lead(workspace, bot)
    await client.patch(f"/v1/leads/{lead.id}", json={"name": "Grace"}, headers={"Idempotency-Key": "k"})
    await client.delete(f"/v1/leads/{lead.id}")
    assert await db.value("SELECT count(*) FROM idempotent_answer") == 0


async def test_an_erasure_waits_for_an_answer_that_shows_the_lead(workspace, bot):
    lead = await make.lead(workspace, bot)

    async def erasable() -> list[Any]:
        return await db.rows("SELECT 1 FROM lead WHERE id = $1 FOR UPDATE SKIP LOCKED", lead.id)

    async with db.transaction():
        await changes.update(workspace, lead.id, LeadPatch(name="Ada"), unchanged={})  # her name already
        assert not await asyncio.get_running_loop().create_task(erasable(), context=Context())
    assert await erasable()


async def test_every_answer_tells_how_much_is_left(client):
    answer = await client.get("/v1/leads")
    assert answer.headers["ratelimit-policy"] == '"default";q=6000;w=60, "burst";q=200;w=2'
    assert answer.headers["ratelimit"] == '"burst";r=199;t=1'


async def test_guessing_keys_is_throttled_and_a_good_key_is_not(client, anonymous, api_key, no_refill):
    del anonymous.headers["Authorization"]
    statuses = [(await anonymous.get("/v1/leads")).status_code for _ in range(61)]
    assert statuses == [401] * 60 + [429]
    answer = await anonymous.get("/v1/leads", headers={"Authorization": "Bearer nonsense"})
    assert (answer.status_code, answer.json()["code"]) == (429, "rate_limited")
    assert int(answer.headers["retry-after"]) >= 1
    assert (await anonymous.get("/v1/leads", headers={"Authorization": f"Bearer {api_key}"})).status_code == 200


async def test_the_bucket_empties_and_fills_again(redis):
    limit = RateLimit("test", 60, shared=False)
    for _ in range(60):
        limit.take("me", 0.0)
    with pytest.raises(RateLimited) as refused:
        limit.take("me", 0.5)
    assert refused.value.headers["Retry-After"] == "1"
    limit.take("me", 1.5)
    limit.take("you", 0.5)


@pytest.mark.parametrize("limit", [1, 6, 60, 200, 201, 6000, 30_000])
async def test_the_rate_headers_agree(limit):
    """What is left is never more than the policy that it names allows, and `Retry-After` is `t` and true."""
    policy, now = RateLimit("test", limit, shared=False), 0.0
    for _ in range(3):
        told: list[dict[str, str]] = []

        def use_up(told: list[dict[str, str]] = told, now: float = now) -> None:
            while True:
                told.append({name.decode(): value.decode() for name, value in policy.take("me", now)})

        with pytest.raises(RateLimited) as refused:
            use_up()
        headers = {name.lower(): value for name, value in refused.value.headers.items()}
        assert now or len(told) == min(limit, 200)
        for answer in (*told, headers):
            name, left, _ = re.fullmatch(r'"(\w+)";r=(\d+);t=(\d+)', answer["ratelimit"]).groups()
            quotas = dict(re.findall(r'"(\w+)";q=(\d+);w=\d+', answer["ratelimit-policy"]))
            assert quotas["test"] == str(limit)
            assert int(left) <= int(quotas[name])
        assert headers["ratelimit"].endswith(f";r=0;t={headers['retry-after']}")
        now += int(headers["retry-after"])
        policy.take("me", now)


async def test_a_request_from_before_takes_no_more_than_its_token(redis):
    """Its key was looked up in the database while others with a later time went past."""
    limit = RateLimit("test", 6000, shared=False)
    limit.take("me", 5.0)
    assert limit.take("me", 1.0)[1] == (b"ratelimit", b'"burst";r=198;t=1')


async def test_processes_settle_through_redis(redis):
    """Two processes with a bucket each: after settling, neither lets through what both have used up."""
    one, other = RateLimit("shared", 60, shared=True), RateLimit("shared", 60, shared=True)
    for limit in (one, other):
        for _ in range(40):
            limit.take("me", 0.0)
    for limit in (one, other):
        limit.take("me", 1.1)
        await asyncio.gather(*redis_pool._background_tasks)
    with pytest.raises(RateLimited):
        other.take("me", 1.2)


async def test_no_limit_is_no_headers():
    assert RateLimit("off", 0, shared=False).take("me", 0.0) == []


async def test_whoever_stays_within_a_high_limit_is_never_refused(redis):
    """500 a second are allowed and 400 used: more than a burst between two settlements, and yet within the limit."""
    limit = RateLimit("high", 30_000, shared=True)
    for second in range(3):
        for number in range(400):
            limit.take("me", second + number / 400)
            await asyncio.gather(*redis_pool._background_tasks)
        await redis.hincrbyfloat("leadwire:rate:high:me", "at", -1)  # so Redis too saw a second go by


async def test_a_slow_redis_does_not_make_a_high_limit_lower(redis):
    """What is used until Redis answers does not count without what was filled in meanwhile."""
    limit = RateLimit("slow", 30_000, shared=True)
    limit.take("me", 0.0)
    limit.take("me", 1.1)  # asks Redis
    for number in range(250):
        limit.take("me", 1.1 + (number + 1) / 500)
    await asyncio.gather(*redis_pool._background_tasks)
    limit.take("me", 1.602)
