"""API keys: their form, how long they work, and what each may do."""

import asyncio
import itertools
from datetime import timedelta

import pytest
from msgspec import structs

from leadwire.domain.accounts import changes, keys, reads
from leadwire.domain.accounts.changes import workspaces as quotas
from leadwire.domain.workspaces import changes as workspaces
from leadwire.infrastructure import clock, db, ids, redis_pool, settings
from leadwire.infrastructure.errors import Conflict, Invalid, NotFound
from leadwire.interfaces.v1 import authentication
from tests import make

ROUTES = [
    ("GET", "/v1/leads", "leads:read"),
    ("HEAD", "/v1/leads", "leads:read"),
    ("GET", "/v1/leads/{lead}", "leads:read"),
    ("PATCH", "/v1/leads/{lead}", "leads:write"),
    ("DELETE", "/v1/leads/{lead}", "leads:write"),
    ("GET", "/v1/conversations", "conversations:read"),
    ("GET", "/v1/conversations/{talk}", "conversations:read"),
    ("GET", "/v1/conversations/{talk}/messages", "conversations:read"),
    ("POST", "/v1/conversations/{talk}/end", "conversations:write"),
    ("GET", "/v1/events", "events:read"),
    ("GET", "/v1/events/{event}", "events:read"),
    ("GET", "/v1/bots", "bots:read"),
    ("GET", "/v1/bots/{bot}", "bots:read"),
]


def test_a_key_has_the_promised_form():
    made = [keys.new() for _ in range(50)]
    for key in made:
        start, lookup, secret = key.split("_")
        assert (start, len(lookup), len(secret)) == ("lw", 8, 43 + 6)
        assert (lookup + secret).isascii()
        assert (lookup + secret).isalnum()
        assert keys.lookup_of(key) == lookup
    assert len(set(made)) == len({keys.lookup_of(key) for key in made}) == 50


def test_every_typo_of_one_character_is_found_without_a_look_up():
    text = keys.new()
    for place, other in itertools.product(range(3, len(text)), "0aZ_ é"):
        if text[place] != other:
            assert keys.lookup_of(text[:place] + other + text[place + 1 :]) is None


@pytest.mark.parametrize(
    "change",
    [
        str.upper, str.lower, str.swapcase, "{}0".format, "{}\n".format, " {}".format, "Bearer {}".format,
        lambda key: key[:-1], lambda key: key.replace("lw_", "sk_"), lambda key: "",
    ],
)  # fmt: skip
def test_what_is_no_key(change):
    assert keys.lookup_of(change(keys.new())) is None


async def test_a_typo_asks_no_database(api_key, monkeypatch):
    async def never(*_):
        raise AssertionError("looked up")

    monkeypatch.setattr(db, "row", never)
    assert await reads.caller(api_key[:-1] + ("0" if api_key[-1] != "0" else "1"), 0.0) is None


async def test_only_the_digest_is_kept(workspace, api_key):
    (row,) = await db.rows("SELECT api_key::text AS everything, hash FROM api_key")
    assert api_key.split("_")[2] not in row["everything"]
    assert bytes(row["hash"]) == keys.digest(api_key)
    (listed,) = await reads.listed(workspace)
    assert listed.starts_with == api_key[:12]


async def test_the_right_start_with_another_secret_is_nobody(api_key):
    forged = keys.new()
    start = f"{api_key[:12]}{forged[12:55]}"
    forged = start + keys._checksum(start)
    assert keys.lookup_of(forged) == api_key[3:11]
    assert await reads.caller(forged, 0.0) is None
    assert await reads.caller(api_key, 0.0) is not None
    assert await reads.caller(forged, 0.0) is None  # also while the true one is remembered


async def test_a_revoked_key_works_nowhere_after_five_seconds(workspace):
    key_id, key = await changes.create_key(workspace, "old")
    assert (await reads.caller(key, 100.0)).key_id == key_id
    await changes.revoke_key(workspace, key_id)
    assert await reads.caller(key, 105.001) is None
    assert await reads.caller(key, 100.0) is None  # and is not remembered any more


async def test_using_a_revoked_key_does_not_prolong_it(workspace):
    key_id, key = await changes.create_key(workspace, "old")
    await reads.caller(key, 100.0)
    await changes.revoke_key(workspace, key_id)
    for tenth in range(51):
        await reads.caller(key, 100.0 + tenth / 10)
    assert await reads.caller(key, 105.1) is None


async def test_a_key_revoked_in_mid_flight_refuses_the_next_request(client, workspace, bot):
    lead = await make.lead(workspace, bot)
    (listed,) = await reads.listed(workspace)
    first, _ = await asyncio.gather(client.get(f"/v1/leads/{lead.id}"), changes.revoke_key(workspace, listed.id))
    assert first.status_code in (200, 401)
    reads._known.clear()  # five seconds later
    answer = await client.get(f"/v1/leads/{lead.id}")
    assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")


async def test_revoking_twice_keeps_the_first_time_and_another_workspace_cannot(workspace):
    key_id, _ = await changes.create_key(workspace, "old")
    other = await changes.create_workspace("Other")
    for stranger, unknown in ((other, key_id), (workspace, ids.new("key"))):
        with pytest.raises(NotFound):
            await changes.revoke_key(stranger, unknown)
    await changes.revoke_key(workspace, key_id)
    (first,) = await reads.listed(workspace)
    with clock.at(clock.now() + timedelta(days=1)):
        await changes.revoke_key(workspace, key_id)
    assert await reads.listed(workspace) == [first]


async def test_a_suspended_workspace_is_a_403_until_it_is_resumed(client, workspace, bot):
    lead = await make.lead(workspace, bot)
    await workspaces.suspend(workspace)
    reads._known.clear()  # five seconds later
    for method, path in (("GET", "/v1/leads"), ("DELETE", f"/v1/leads/{lead.id}"), ("GET", "/v1/conversations")):
        answer = await client.request(method, path)
        assert (answer.status_code, answer.json()["code"]) == (403, "workspace_suspended")
    await workspaces.resume(workspace)
    reads._known.clear()
    assert (await client.get(f"/v1/leads/{lead.id}")).json()["data"]["id"] == lead.id


async def test_a_workspace_may_have_a_rate_of_its_own(client, anonymous, workspace, no_refill):
    await quotas.set_quota(workspace, "requests", 3)
    reads._known.clear()
    answers = [await client.get("/v1/leads") for _ in range(4)]
    assert [one.status_code for one in answers] == [200, 200, 200, 429]
    assert answers[3].json()["code"] == "rate_limited"
    assert answers[0].headers["RateLimit-Policy"] == '"default";q=3;w=60'
    other = await changes.create_workspace("Other")
    _, key = await changes.create_key(other, "theirs")
    answer = await anonymous.get("/v1/leads", headers={"Authorization": f"Bearer {key}"})
    assert answer.headers["RateLimit-Policy"].startswith('"default";q=6000;w=60')


async def test_a_key_expires_at_its_moment_even_while_remembered(workspace):
    now = clock.now()
    _, key = await changes.create_key(workspace, "short", expires_at=now + timedelta(seconds=2))
    for seconds, works in ((0, True), (1.999, True), (2, False), (1.999, True), (86_400, False)):
        with clock.at(now + timedelta(seconds=seconds)):
            assert (await reads.caller(key, 100.0) is not None) == works


async def test_an_expired_key_is_a_401(anonymous, workspace):
    _, key = await changes.create_key(workspace, "past", expires_at=clock.ago(seconds=1))
    answer = await anonymous.get("/v1/leads", headers={"Authorization": f"Bearer {key}"})
    assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")


@pytest.mark.parametrize("overlap", [0, 3600, 86_400, 604_800])
async def test_a_rolled_key_ends_after_its_overlap(workspace, overlap):
    now = clock.now()
    with clock.at(now):
        key_id, old = await changes.create_key(workspace, "name", ["leads:read"])
        _, new = await changes.roll_key(workspace, key_id, overlap)
    for seconds, works in ((overlap - 0.001, True), (overlap, False))[overlap == 0 :]:
        with clock.at(now + timedelta(seconds=seconds)):
            assert (await reads.caller(old, 100.0) is not None) == works
            assert (await reads.caller(new, 100.0)).scopes == {"leads:read"}


@pytest.mark.parametrize(("life", "longest", "new"), [(30, 0, 30), (30, 7, 7), (None, 0, None), (None, 7, 7)])
async def test_a_rolled_key_s_successor_lasts_as_long(workspace, monkeypatch, life, longest, new):
    """Who let a key end, as a contractor's, has not been asked whether its successor is to last for ever."""
    then, later = clock.now(), clock.ago(days=-10)
    with clock.at(then):
        key_id, _ = await changes.create_key(workspace, "name", expires_at=life and then + timedelta(days=life))
    chosen = structs.replace(settings.get(), key_life_days=longest)
    monkeypatch.setattr(settings, "get", lambda: chosen)
    with clock.at(later):
        successor, _ = await changes.roll_key(workspace, key_id, 3600)
    ends = await db.value("SELECT expires_at FROM api_key WHERE id = $1", successor)
    assert ends == (new and later + timedelta(days=new))


async def test_a_key_is_rolled_once(workspace):
    """Its end is that of its overlap by now: another successor would last no longer."""
    key_id, _ = await changes.create_key(workspace, "name")
    successor, _ = await changes.roll_key(workspace, key_id, 86_400)
    with pytest.raises(Conflict, match=rf"the newer one of the same name \({successor}\) instead, or create one\."):
        await changes.roll_key(workspace, key_id, 86_400)
    last, _ = await changes.roll_key(workspace, successor, 0)
    assert await db.value("SELECT expires_at FROM api_key WHERE id = $1", last) is None
    assert await db.value("SELECT count(*) FROM api_key") == 3


@pytest.mark.parametrize("overlap", [-1, 1, 7200])
async def test_no_other_overlap(workspace, overlap):
    key_id, _ = await changes.create_key(workspace, "name")
    with pytest.raises(Invalid):
        await changes.roll_key(workspace, key_id, overlap)


@pytest.mark.parametrize(("method", "path", "scope"), ROUTES)
async def test_each_route_asks_for_its_scope_and_no_other(anonymous, workspace, bot, method, path, scope):
    """Who may write a resource may read it: what a change answers is all of it."""
    enough = {scope, scope.replace(":read", ":write")}
    for only in keys.SCOPES:
        lead = await make.lead(workspace, bot)
        url = path.format(lead=lead.id, talk=lead.conversation_id, bot=bot, event=await _event())
        _, key = await changes.create_key(workspace, "only", [only])
        sent = {"json": {"name": "Grace"}} if method == "PATCH" else {}
        answer = await anonymous.request(method, url, headers={"Authorization": f"Bearer {key}"}, **sent)
        assert answer.status_code == (200 if only in enough else 403), only
        if answer.status_code == 403 and method != "HEAD":
            assert answer.json()["code"] == "insufficient_scope"
            assert scope in answer.json()["detail"]


async def test_a_key_says_what_it_may_do_reading_included(anonymous, workspace):
    _, key = await changes.create_key(workspace, "writes", ["conversations:write", "leads:write"])
    answer = await anonymous.get("/v1/me", headers={"Authorization": f"Bearer {key}"})
    expected = ["leads:read", "leads:write", "conversations:read", "conversations:write"]
    assert answer.json()["data"]["scopes"] == expected
    (listed,) = await reads.listed(workspace)
    assert listed.scopes == ["conversations:write", "leads:write"]  # as it was made


async def _event() -> str:
    return await db.value("SELECT id FROM event ORDER BY id LIMIT 1")


async def test_the_scope_is_asked_before_anything_is_looked_up(anonymous, workspace):
    _, key = await changes.create_key(workspace, "none", [])
    for method, path in (
        ("GET", "/v1/leads?limit=bad"),
        ("PATCH", f"/v1/leads/{ids.new('lead')}"),
        ("DELETE", "/v1/leads/x"),
        ("POST", "/v1/conversations/x/end"),
    ):
        answer = await anonymous.request(method, path, headers={"Authorization": f"Bearer {key}"})
        assert (answer.status_code, answer.json()["code"]) == (403, "insufficient_scope")


@pytest.mark.parametrize(
    ("name", "scopes"), [("x", ["leads:admin"]), ("x", ["*"]), ("", []), (" ", []), ("x" * 201, [])]
)
async def test_a_key_that_cannot_be_made(workspace, name, scopes):
    with pytest.raises(Invalid):
        await changes.create_key(workspace, name, scopes)
    assert await reads.listed(workspace) == []


async def test_a_use_is_noted_at_most_once_a_minute(workspace):
    key_id, _ = await changes.create_key(workspace, "used")
    now = clock.now()
    seen = []
    for seconds in (0, 1, 60, 60.001, 61, 121):
        with clock.at(now + timedelta(seconds=seconds)):
            await changes.note_use([key_id])
        seen.append((await reads.listed(workspace))[0].last_used_at)
    first, second = clock.iso(now), clock.iso(now + timedelta(seconds=60.001))
    assert seen == [first, first, first, second, second, clock.iso(now + timedelta(seconds=121))]


async def test_a_hundred_requests_note_one_use_beside_them(client, workspace, monkeypatch):
    noted = []

    async def note(key_ids):
        noted.extend(key_ids)

    monkeypatch.setattr(changes, "note_use", note)
    for _ in range(100):
        assert (await client.get("/v1/leads")).status_code == 200
    await asyncio.gather(*redis_pool._background_tasks)
    assert noted == [(await reads.listed(workspace))[0].id]


async def test_a_note_that_fails_fails_no_request(client, monkeypatch):
    async def fail(_):
        raise OSError("no database")

    monkeypatch.setattr(changes, "note_use", fail)
    assert [(await client.get("/v1/leads")).status_code for _ in range(3)] == [200] * 3


@pytest.mark.parametrize("more", [{}, {"Idempotency-Key": "one"}])
async def test_a_body_that_is_held_back_until_its_key_has_ended_changes_nothing(
    client, workspace, bot, monkeypatch, more
):
    monkeypatch.setattr(authentication, "CHECKED_EVERY", 0.0)
    lead = await make.lead(workspace, bot)

    async def held():
        yield b'{"name": '
        await changes.revoke_key(workspace, await db.value("SELECT id FROM api_key"))
        yield b'"Late"}'

    headers = {"Content-Type": "application/json", **more}
    answer = await client.patch(f"/v1/leads/{lead.id}", content=held(), headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")
    assert await db.value("SELECT name FROM lead") != "Late"
