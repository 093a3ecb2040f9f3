"""Signing in: who may, how often they may try, and which headers the browser gets."""

import asyncio
import ipaddress
import re

import msgspec
import pytest

from leadwire.domain.accounts.changes import team
from leadwire.domain.accounts.changes import workspaces as moves
from leadwire.domain.accounts.sign_in import passwords, tries
from leadwire.domain.workspaces import changes as workspaces
from leadwire.infrastructure import db, settings
from leadwire.interfaces.web.security import local
from tests.interfaces.web.conftest import PASSWORD, browser


async def sessions() -> int:
    return await db.value("SELECT count(*) FROM user_session")


async def test_a_link_makes_one_account_and_then_no_more(stranger, workspace):
    token = await team.invite(workspace, None, "admin")
    await stranger.fill(f"/join/{token}", email=" Ada@Example.org ", password=PASSWORD)
    assert await db.value("SELECT email FROM user_account") == "ada@example.org"
    assert "ada@example.org" in await stranger.open("/account")
    async with browser() as other:
        await other.fill(f"/join/{token}", 404, email="eve@example.org", password=PASSWORD)
        assert "used" in await other.open(f"/join/{token}", 404)


async def test_of_two_who_open_the_same_link_one_gets_in(workspace, stranger):
    token = await team.invite(workspace, None, "admin")
    async with browser() as other:
        answers = await asyncio.gather(
            *(
                one.post(f"/join/{token}", data={"email": f"{name}@example.org", "password": PASSWORD})
                for name, one in (("a", stranger), ("b", other))
            )
        )
    assert sorted(answer.status_code for answer in answers) == [303, 404]


@pytest.mark.parametrize(("email", "password"), [("ada@example.org", "short"), ("not an address", PASSWORD)])
async def test_an_account_that_cannot_be_made_leaves_the_link_open(stranger, workspace, email, password):
    token = await team.invite(workspace, None, "admin")
    await stranger.fill(f"/join/{token}", 422, email=email, password=password)
    await stranger.fill(f"/join/{token}", email="ada@example.org", password=PASSWORD)


async def test_a_workspace_that_has_moved_says_where(admin, stranger, workspace):
    token = await team.invite(workspace, None, "agent")
    await moves.leave(workspace, "move", "https://b.example")
    assert (await admin.get("/leads")).headers["Location"] == "/sign-in?next=/leads"
    said = "The workspace has moved to https://b.example."
    assert said in await stranger.fill("/sign-in", 503, email="ada@example.org", password=PASSWORD)
    assert said in await stranger.fill(f"/join/{token}", 503, email="eve@example.org", password=PASSWORD)


async def test_a_suspended_workspace_lets_nobody_in_and_says_so(admin, stranger, workspace):
    token = await team.invite(workspace, None, "agent")
    await workspaces.suspend(workspace)
    assert (await admin.get("/leads")).headers["Location"] == "/sign-in?next=/leads"
    said = "The workspace is suspended."
    page = await stranger.fill("/sign-in", 403, email="ada@example.org", password=PASSWORD)
    assert said in page
    page = await stranger.fill("/sign-in", 422, email="ada@example.org", password="another one")
    assert said not in page
    assert said in await stranger.fill(f"/join/{token}", 403, email="eve@example.org", password=PASSWORD)
    await workspaces.resume(workspace)
    await admin.open("/leads")  # with the session from before


async def test_nobody_takes_the_address_they_were_invited_by_as_their_password(stranger, workspace):
    token = await team.invite(workspace, "somebody.special@example.org", "agent")
    await stranger.fill(f"/join/{token}", 422, email="", password="somebody.special")


async def test_a_link_that_leads_nowhere_costs_no_password_hash(stranger, workspace, monkeypatch):
    async def hashed(_password):
        raise AssertionError("hashed")

    monkeypatch.setattr(passwords, "digest", hashed)
    await stranger.fill("/join/nothing", 404, email="eve@example.org", password=PASSWORD)


async def test_signing_in_makes_a_new_token_and_ends_the_old_session(admin):
    before = admin.cookies["leadwire"]
    await admin.post("/sign-in", data={"email": "ADA@example.org", "password": PASSWORD})
    assert admin.cookies["leadwire"] != before
    assert await sessions() == 1


async def test_whoever_joins_in_a_browser_of_somebody_else_is_told_and_ends_their_session(admin, workspace):
    assert await sessions() == 1
    link = f"/join/{await team.invite(workspace, 'grace@example.org', 'agent')}"
    assert "You are signed in as ada@example.org." in await admin.open(link)
    await admin.fill(link, password=PASSWORD, name="Grace")
    assert await sessions() == 1
    assert await db.value("SELECT name FROM user_account JOIN user_session s ON s.user_id = user_account.id") == "Grace"


async def test_a_token_that_somebody_planted_is_never_adopted(admin, stranger):
    planted = {"Cookie": "leadwire=planted"}
    done = await stranger.post("/sign-in", data={"email": "ada@example.org", "password": PASSWORD}, headers=planted)
    assert done.status_code == 303
    assert stranger.cookies["leadwire"] != "planted"
    stranger.cookies.clear()
    assert (await stranger.get("/account", headers=planted)).status_code == 303


@pytest.mark.parametrize("planted", ["%E2%82%AC", "%00", "%ED%A0%80", '"', "x" * 4000])
async def test_a_mark_that_somebody_planted_keeps_nobody_out(admin, stranger, planted):
    form = {"email": "ada@example.org", "password": PASSWORD}
    done = await stranger.post("/sign-in", data=form, headers={"Cookie": f"leadwire-browser={planted}"})
    assert done.status_code == 303
    assert re.fullmatch(r"[\w-]{22}", stranger.cookies["leadwire-browser"])


async def test_signing_out_ends_the_session_for_whoever_copied_it(admin, stranger):
    copied = {"Cookie": f"leadwire={admin.cookies['leadwire']}"}
    assert (await stranger.get("/account", headers=copied)).status_code == 200
    await admin.fill("/sign-out")
    assert (await stranger.get("/account", headers=copied)).status_code == 303


async def test_a_wrong_password_and_an_unknown_address_look_alike(admin, stranger):
    wrong = await stranger.post("/sign-in", data={"email": "ada@example.org", "password": "no"})
    unknown = await stranger.post("/sign-in", data={"email": "ada@example.com", "password": "no"})
    assert wrong.status_code == unknown.status_code == 422
    assert wrong.text.replace("example.org", "example.com") == unknown.text


async def test_a_password_changed_while_it_is_checked_lets_nobody_in_and_stays_changed(admin, stranger, monkeypatch):
    async def checked(_stored, _password, _lane):
        await db.rows("UPDATE user_account SET password_hash = 'another'")
        return True

    monkeypatch.setattr(passwords, "matches", checked)
    await stranger.fill("/sign-in", 422, email="ada@example.org", password=PASSWORD)
    assert await db.value("SELECT password_hash FROM user_account") == "another"
    assert await sessions() == 1


async def test_a_password_may_be_tried_five_times(admin, stranger):
    for _ in range(tries.PER_NETWORK):
        await stranger.fill("/sign-in", 422, email="ada@example.org", password="wrong")
    refused = await stranger.post("/sign-in", data={"email": "ada@example.org", "password": PASSWORD})
    assert refused.status_code == 429
    assert refused.headers["Retry-After"] == "180"


async def test_many_guesses_at_once_do_not_slip_through(admin, stranger):
    forms = [{"email": "ada@example.org", "password": f"guess {number}"} for number in range(20)]
    answers = await asyncio.gather(*(stranger.post("/sign-in", data=form) for form in forms))
    assert sorted({answer.status_code for answer in answers}) == [422, 429]
    assert sum(answer.status_code == 422 for answer in answers) == tries.PER_NETWORK


@pytest.mark.parametrize(
    "elsewhere",
    [
        "//evil.example",
        "https://evil.example",
        "/\\evil.example",
        "javascript:alert(1)",
        "evil",
        "/\r\nSet-Cookie: a=b",
        "//[",
        "https://[",
    ],
)
async def test_next_leads_to_a_page_of_ours_only(elsewhere):
    assert local(elsewhere) == "/"


async def test_an_origin_that_is_none_is_another_site(stranger):
    assert (await stranger.post("/sign-in", headers={"Origin": "http://["})).status_code == 403


async def test_a_page_of_ours_is_kept_through_sign_in(admin, stranger):
    asked = await stranger.get("/keys?a=b")
    assert asked.headers["Location"] == "/sign-in?next=/keys%3Fa%3Db"
    done = await stranger.post("/sign-in", data={"email": "ada@example.org", "password": PASSWORD, "next": "/keys?a=b"})
    assert done.headers["Location"] == "/keys?a=b"


async def test_every_page_carries_the_policy(stranger, admin):
    for answer in [await stranger.get("/sign-in"), await admin.get("/keys"), await admin.get("/nothing-here")]:
        assert "require-trusted-types-for 'script'" in answer.headers["content-security-policy"]
        assert "unsafe" not in answer.headers["content-security-policy"]
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["referrer-policy"] == "same-origin"
        assert "<script>" not in answer.text
        assert "style=" not in answer.text


async def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites(admin, stranger):
    done = await stranger.post("/sign-in", data={"email": "ada@example.org", "password": PASSWORD})
    cookie = done.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    assert "path=/" in cookie


async def test_over_https_the_cookie_is_bound_to_this_host_and_the_browser_stays_with_https(admin, monkeypatch):
    done = await admin.post("https://test/sign-in", data={"email": "ada@example.org", "password": PASSWORD})
    assert done.headers["set-cookie"].startswith("__Host-leadwire=")
    assert "; secure" in done.headers["set-cookie"].lower()
    for path in ("https://test/sign-in", "https://test/v1/leads", "https://test/nowhere", "https://test/docs"):
        answer = await admin.get(path)
        assert answer.headers.get_list("strict-transport-security") == ["max-age=31536000; includeSubDomains"]
    assert "strict-transport-security" not in (await admin.get("/v1/leads")).headers
    configured = settings.get()
    monkeypatch.setattr(
        settings, "get", lambda: msgspec.structs.replace(configured, public_url="https://leads.example")
    )
    assert "strict-transport-security" in (await admin.get("/v1/leads")).headers


async def test_https_that_ends_at_a_proxy_counts_where_the_proxy_is_trusted(admin, monkeypatch):
    async def cookie() -> str:
        done = await admin.post(
            "/sign-in", data={"email": "ada@example.org", "password": PASSWORD}, headers={"x-forwarded-proto": "https"}
        )
        assert ("strict-transport-security" in done.headers) == done.headers["set-cookie"].startswith("__Host-")
        return done.headers["set-cookie"].partition("=")[0]

    assert await cookie() == "leadwire"
    configured, ours = settings.get(), ipaddress.ip_network("127.0.0.0/8")
    monkeypatch.setattr(settings, "get", lambda: msgspec.structs.replace(configured, trusted_proxies=(ours,)))
    assert await cookie() == "__Host-leadwire"


@pytest.mark.parametrize(
    "password",
    [
        "aaaaaaaaaaaa",
        "abcabcabcabc",
        "123456789012",
        "password1234",
        "qwertyuiop12",
        "Ada-Lovelace1234",
        "LeadwireAdmin1",
        "correcthorsebatterystaple",
        "ManchesterUnited2024!",
    ],
)
async def test_a_password_that_is_guessed_first_is_refused(stranger, workspace, password):
    token = await team.invite(workspace, None, "admin")
    page = await stranger.fill(f"/join/{token}", 422, email="ada-lovelace@example.org", password=password)
    assert "Too easy to guess" in page


async def test_who_is_refused_is_in_the_log_without_their_address(admin, stranger, caplog):
    for email in ("ada@example.org", "nobody@example.org"):
        await stranger.fill("/sign-in", 422, email=email, password="not the password")
    for _ in range(tries.PER_NETWORK):
        await stranger.post("/sign-in", data={"email": "ada@example.org", "password": "not the password"})
    told = [(one.getMessage(), one.fields) for one in caplog.records if one.getMessage().startswith("sign_in.")]
    ada = await db.value("SELECT id FROM user_account")
    assert told[:2] == [("sign_in.refused", {"user": ada}), ("sign_in.refused", {"user": None})]
    assert told[-1] == ("sign_in.throttled", {"of": "network"})
    assert "@" not in str(told)


async def test_a_session_ends_when_it_is_ended_in_the_database(admin):
    await db.rows("DELETE FROM user_session")
    assert (await admin.get("/keys")).headers["Location"].startswith("/sign-in")


async def test_an_idle_session_ends(admin):
    await db.rows("UPDATE user_session SET seen_at = seen_at - interval '13 hours'")
    assert (await admin.get("/keys")).status_code == 303
