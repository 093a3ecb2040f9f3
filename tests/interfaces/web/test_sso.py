"""Signing in through a provider: who gets in, as what, and what ends it."""

import asyncio
import base64
import hashlib
import time
from functools import partial

import msgspec
import pytest

from leadwire.domain.accounts.changes import team
from leadwire.domain.accounts.sign_in import tries
from leadwire.domain.accounts.sign_in.changes.sessions import Browser
from leadwire.domain.accounts.sso import changes as sso
from leadwire.domain.accounts.sso import reads
from leadwire.domain.accounts.sso.changes import sign_in
from leadwire.domain.accounts.sso.tokens import Claims
from leadwire.domain.workspaces import changes as workspaces
from leadwire.infrastructure import clock, db, settings
from tests import jobs
from tests.delivery.interleaved import overlapped
from tests.interfaces.web.conftest import browser, signed_in
from tests.mailing import mails
from tests.oidc.lying import (
    CLIENT,
    EMAIL,
    KEYS,
    RSA,
    SECRET,
    b64,
    jwk,
    leave,
    lying,
    set_up,
    signature,
    through,
    with_public_key_as_secret,
    without_signature,
)

LOGOUT = {"events": {"http://schemas.openid.net/event/backchannel-logout": {}}, "nonce": None}


@pytest.fixture
async def liar(database):
    async with lying() as made:
        yield made


@pytest.fixture
async def provider(workspace, liar):
    return await set_up(workspace, liar.issuer)


async def people():
    return [tuple(row) for row in await db.rows("SELECT email, role FROM user_account ORDER BY created_at, id")]


async def noted(action):
    entries = "SELECT actor, detail FROM audit_entry WHERE action = $1 ORDER BY at, id"
    return [tuple(row) for row in await db.rows(entries, action)]


async def sessions():
    return await db.value("SELECT count(*) FROM user_session")


async def test_somebody_new_gets_an_account_with_the_default_role(stranger, provider, liar):
    done = await through(stranger, provider, liar, "?next=/leads")
    assert (done.status_code, done.headers["Location"]) == (303, "/leads")
    assert await people() == [(EMAIL, "viewer")]
    assert EMAIL in await stranger.open("/account")
    assert (await noted("user.joined"), await noted("user.signed_in")) == ([(EMAIL, "viewer")], [(EMAIL, "by Acme ID")])
    assert await db.value("SELECT password_hash FROM user_account") is None


async def test_an_account_is_found_however_its_domain_is_spelled(workspace, stranger, liar):
    link = await team.invite(workspace, "anna@bücher.example", "agent")
    await team.accept(link, "", "four quiet grey horses", Browser("127.0.0.1"))
    provider = await set_up(workspace, liar.issuer, domains=["xn--bcher-kva.example"])
    liar.claims = {"email": "anna@xn--bcher-kva.example"}
    assert (await through(stranger, provider, liar)).status_code == 303
    assert await people() == [("anna@bücher.example", "agent")]
    await db.rows("UPDATE email_domain SET proven_at = NULL, taken_over_until = now() + interval '1 day'")
    assert await reads.for_email("anna@bücher.example") == [(provider, "Acme ID")]


async def test_a_browser_that_was_not_seen_before_is_told_of(stranger, provider, liar, smtp, set_mail):
    set_mail(f"smtp://127.0.0.1:{smtp.port}?tls=none", public_url="http://test")
    for _ in range(2):  # they join with it, and come again
        await through(stranger, provider, liar)
    assert await mails() == []
    async with browser() as other:
        await through(other, provider, liar)
    assert [to for to, _ in await mails("new_sign_in")] == [EMAIL]


async def test_what_the_provider_is_asked(stranger, provider, liar):
    asked = await leave(stranger, provider)
    callback = f"http://test/sso/{provider}/callback"
    expected = {"tenant": "1", "response_type": "code", "response_mode": "query", "client_id": CLIENT}
    expected |= {"redirect_uri": callback, "scope": "openid email profile"}
    assert {name: asked[name] for name in expected} == expected
    liar.nonce = asked["nonce"]
    await stranger.get(f"/sso/{provider}/callback", params={"code": "c-1", "state": asked["state"]})
    _, form, headers = next(one for one in liar.asked if one[0] == "/token")
    assert (form["code"], form["redirect_uri"], form["grant_type"]) == (["c-1"], [callback], ["authorization_code"])
    digest = hashlib.sha256(form["code_verifier"][0].encode()).digest()
    assert (b64(digest), asked["code_challenge_method"]) == (asked["code_challenge"], "S256")
    assert base64.b64decode(headers["authorization"].split()[1]).decode() == f"{CLIENT}:s3cret+%26+more"
    assert "client_secret" not in form


async def test_a_provider_that_wants_the_secret_in_the_form_gets_it_there(stranger, provider, liar):
    liar.metadata = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
    assert (await through(stranger, provider, liar)).status_code == 303
    _, form, headers = next(one for one in liar.asked if one[0] == "/token")
    assert (form["client_id"], form["client_secret"], "authorization" in headers) == ([CLIENT], [SECRET], False)


async def test_a_way_that_no_cookie_can_hold_is_forgotten(stranger, provider, liar):
    done = await through(stranger, provider, liar, f"?next=/{'x' * 5000}")
    assert done.headers["Location"] == "/"


async def test_the_cookie_is_gone_once_it_was_used_and_bound_to_the_host_over_https(stranger, provider, liar):
    left = await stranger.get(f"https://test/sso/{provider}")
    cookie = left.headers["set-cookie"].lower()
    assert cookie.startswith("__host-leadwire-sso=")
    for needle in ("; secure", "httponly", "samesite=lax", "max-age=600"):
        assert needle in cookie
    done = await through(stranger, provider, liar)
    assert 'leadwire-sso=""; ' in "\n".join(done.headers.get_list("set-cookie")) or "leadwire-sso=;" in str(
        done.headers
    )
    assert "leadwire-sso" not in stranger.cookies or not stranger.cookies["leadwire-sso"]


@pytest.mark.parametrize("alg", KEYS)
async def test_every_algorithm_of_ours(stranger, provider, liar, alg):
    liar.alg, liar.key = alg, KEYS[alg]
    liar.keys = [jwk(one, f"{one!r}") for one in set(KEYS.values()) if one is not KEYS[alg]] + [jwk(KEYS[alg], "one")]
    assert (await through(stranger, provider, liar)).status_code == 303


async def test_a_clock_may_be_off_by_a_minute(stranger, provider, liar):
    now = int(time.time())
    for claims in ({"exp": now - 50}, {"iat": now + 50, "nbf": now + 50}):
        liar.claims = claims
        assert (await through(stranger, provider, liar)).status_code == 303


async def test_the_only_key_verifies_a_token_that_names_none(stranger, provider, liar):
    liar.header = {"kid": None}
    assert (await through(stranger, provider, liar)).status_code == 303


async def test_a_new_key_is_fetched_at_once_and_then_at_most_once_a_minute(stranger, provider, liar, monkeypatch):
    def fetched():
        return [one[0] for one in liar.asked].count("/keys")

    for n, kid in enumerate(("one", "rotated"), 1):
        liar.kid, liar.keys = kid, [jwk(RSA, kid)]
        assert (await through(stranger, provider, liar)).status_code == 303
        assert fetched() == n
    liar.kid, liar.keys = "two", [jwk(RSA, "two")]
    assert (await through(stranger, provider, liar)).status_code == 400  # they were fetched for another just now
    assert fetched() == 2
    later = clock.now() + msgspec.convert(61, type=float) * (clock.now() - clock.ago(seconds=1))
    monkeypatch.setattr(clock, "now", lambda: later)
    liar.claims = {"iat": int(later.timestamp()), "exp": int(later.timestamp()) + 300}
    assert (await through(stranger, provider, liar)).status_code == 303
    liar.kid = "three"
    assert (await through(stranger, provider, liar)).status_code == 400
    assert fetched() == 3


async def test_an_address_that_only_userinfo_tells(stranger, provider, liar):
    liar.claims = {"email": None, "email_verified": None}
    liar.userinfo = {"sub": "grace-1", "email": "Grace@Example.org", "email_verified": True}
    assert (await through(stranger, provider, liar)).status_code == 303
    assert await people() == [(EMAIL, "viewer")]
    assert next(one for one in liar.asked if one[0] == "/me")[2]["authorization"] == "Bearer the-access-token"


async def test_somebody_known_keeps_account_and_role_and_is_known_by_the_provider_s_name(
    agent, stranger, provider, liar
):
    await through(stranger, provider, liar)
    assert await people() == [(EMAIL, "agent")]
    liar.claims = {"email": "grace.hopper@example.org"}
    await through(stranger, provider, liar)
    assert await people() == [(EMAIL, "agent")]


async def test_two_who_come_at_once_are_one_account(provider, liar):
    async with browser() as one, browser() as other:
        asked = [await leave(each, provider) for each in (one, other)]
        liar.mangle = None  # each gets a token with the nonce that belongs to its code

        def token_of(code):
            liar.mangle, liar.nonce = (lambda token: token), asked[int(code)]["nonce"]
            return liar.token()

        def answer():
            async def told():
                code = liar.asked[-1][1]["code"][0]
                return 200, {}, {"id_token": token_of(code)}

            return told

        liar.answers["/token"] = answer()
        done = await asyncio.gather(*(
            each.get(f"/sso/{provider}/callback", params={"code": str(n), "state": asked[n]["state"]})
            for n, each in enumerate((one, other))
        ))  # fmt: skip
    assert [each.status_code for each in done] == [303, 303]
    assert await people() == [(EMAIL, "viewer")]
    assert await sessions() == 2


async def test_an_invitation_gives_its_role_and_is_used_up(workspace, stranger, provider, liar):
    await team.invite(workspace, EMAIL, "agent")
    await through(stranger, provider, liar)
    assert await people() == [(EMAIL, "agent")]
    assert await db.value("SELECT count(*) FROM invitation") == 0


async def test_the_role_follows_the_claim_at_every_sign_in(admin, workspace, stranger, liar):
    roles = {"sales": "agent", "it": "admin"}
    provider = await set_up(workspace, liar.issuer, role_claim="realm_access.roles", roles=roles)
    for groups, role in ((["sales", "it"], "admin"), (["sales"], "agent"), ([], "viewer"), ("it", "admin")):
        liar.claims = {"realm_access": {"roles": groups}}
        await through(stranger, provider, liar)
        assert (await people())[1] == (EMAIL, role)
    assert [detail for _, detail in await noted("user.role_changed")] == [
        "admin to agent", "agent to viewer", "viewer to admin",
    ]  # fmt: skip


async def test_the_last_admin_stays_one_whatever_the_claim_says(admin, workspace, stranger, liar):
    provider = await set_up(workspace, liar.issuer, role_claim="groups", roles={"it": "admin"})
    liar.claims = {"email": "ada@example.org", "groups": []}
    assert (await through(stranger, provider, liar)).status_code == 303
    assert await people() == [("ada@example.org", "admin")]


async def test_quotas_hold(workspace, stranger, provider, liar, monkeypatch):
    await team.invite(workspace, "eve@example.org", "agent")
    few = msgspec.structs.replace(settings.get(), max_users=1)
    monkeypatch.setattr(settings, "get", lambda: few)
    assert "A workspace may have 1 people" in (await through(stranger, provider, liar)).text
    assert await people() == []


async def test_a_removed_person_is_out_at_once_and_stays_out(admin, workspace, stranger, provider, liar):
    await through(stranger, provider, liar)
    user = await db.value("SELECT id FROM user_account WHERE email = $1", EMAIL)
    await admin.open("/team")
    await admin.fill(f"/team/{user}/remove")
    assert (await stranger.get("/account")).status_code == 303
    assert "has removed your account" in (await through(stranger, provider, liar)).text
    await team.invite(workspace, EMAIL, "agent")
    assert (await through(stranger, provider, liar)).status_code == 303
    assert (await people())[1:] == [(EMAIL, "agent")]


async def test_who_was_removed_stays_out_whatever_they_came_by(admin, workspace, stranger, provider, liar):
    async with signed_in(workspace, "agent", EMAIL):
        pass
    await admin.open("/team")
    await admin.fill(f"/team/{await db.value('SELECT id FROM user_account WHERE email = $1', EMAIL)}/remove")
    assert "has removed your account" in (await through(stranger, provider, liar)).text
    await sso.remove(workspace, provider)
    anew = await set_up(workspace, liar.issuer)
    assert "has removed your account" in (await through(stranger, anew, liar)).text
    await team.invite(workspace, EMAIL, "agent")
    assert (await through(stranger, anew, liar)).status_code == 303
    assert (await people())[1:] == [(EMAIL, "agent")]
    assert await db.value("SELECT count(*) FROM removed_person") == 0


async def test_a_suspended_workspace_lets_nobody_in(workspace, stranger, provider, liar):
    await workspaces.suspend(workspace)
    assert "The workspace is suspended." in (await through(stranger, provider, liar)).text
    assert await people() == []


async def test_what_failed_is_in_the_audit_log(stranger, provider, liar):
    liar.claims = {"aud": "another"}
    await through(stranger, provider, liar)
    await tries.write()
    assert await noted("user.sign_in_failed") == [("unknown", "wrong_audience")]
    assert await db.value("SELECT subject FROM audit_entry") == "Acme ID"


async def test_after_the_life_of_a_session_the_provider_is_asked_anew(stranger, provider, liar):
    await through(stranger, provider, liar)
    assert (await stranger.get("/account")).status_code == 200
    await db.rows("UPDATE user_session SET created_at = created_at - interval '15 days'")
    assert (await stranger.get("/account")).headers["location"].startswith("/sign-in?")
    await through(stranger, provider, liar)
    assert (await stranger.get("/account")).status_code == 200


async def test_the_session_from_before_ends(stranger, provider, liar):
    for _ in range(2):
        await through(stranger, provider, liar)
    assert await sessions() == 1


# ---- who is led to which provider


async def test_the_address_leads_to_the_provider_of_its_team(admin, stranger, provider):
    await stranger.open("/sign-in/sso")
    page = await stranger.fill("/sign-in/sso", email="New@Example.org ", next="/leads")
    assert f'href="/sso/{provider}?next=/leads"' in page
    assert "Continue with Acme ID" in page
    assert "No provider is known" in await stranger.fill("/sign-in/sso", email="eve@elsewhere.example")


async def test_nobody_is_led_to_a_provider_of_strangers(admin, stranger, liar):
    """Anybody can enter any domain: it counts where its people are."""
    other, _ = await workspaces.create("Other")
    await set_up(other, liar.issuer, name="Phishing")
    assert "No provider is known" in await stranger.fill("/sign-in/sso", email="ada@example.org")


async def test_an_address_with_two_at_signs_is_of_no_domain(admin, stranger, provider):
    """Older versions took one from a provider whose domain is behind the last."""
    other, _ = await workspaces.create("Other")
    await db.rows(
        "INSERT INTO user_account (id, workspace_id, email, role, created_at)"
        " VALUES ('user_x', $1, 'x@example.org@other.example', 'agent', now())",
        other,
    )
    assert "Continue with Acme ID" in await stranger.fill("/sign-in/sso", email="new@example.org")
    assert "No provider is known" in await stranger.fill("/sign-in/sso", email="new@example.com@example.org")


async def test_another_site_does_not_turn_somebody_into_somebody_else(admin, stranger, provider, liar):
    elsewhere = {"sec-fetch-site": "cross-site"}
    asked = await admin.get(f"/sso/{provider}?next=/leads", headers=elsewhere)
    assert (asked.status_code, "leadwire-sso" in admin.cookies) == (200, False)
    assert (await admin.get(f"/sso/{provider}?confirm=1", headers=elsewhere)).status_code == 200
    assert f'href="/sso/{provider}?next=/leads"' in asked.text
    assert (await stranger.get(f"/sso/{provider}", headers=elsewhere)).status_code == 303


# ---- signing in anew


async def test_step_up_takes_a_new_sign_in_at_the_provider(stranger, workspace, liar):
    provider = await set_up(workspace, liar.issuer, default_role="admin")
    await through(stranger, provider, liar)
    await stranger.open("/team")
    page = await stranger.fill("/team", email="new@example.org", role="agent")  # auth_time was not told: not lately
    assert "Sign in once more" in page
    assert 'type="password"' not in page
    asked = await leave(stranger, provider, "?confirm=1&next=/account")
    assert (asked["prompt"], asked["max_age"]) == ("login", "0")
    liar.nonce, liar.claims = asked["nonce"], {"auth_time": int(time.time())}
    await stranger.get(f"/sso/{provider}/callback", params={"code": "c-1", "state": asked["state"]})
    assert "Confirmed." in await stranger.open("/account")
    assert "A link for new@example.org" in await stranger.fill("/team", 201, email="new@example.org", role="agent")
    assert await sessions() == 1


@pytest.mark.parametrize(
    ("claims", "fault"),
    [
        ({}, "not_anew"),
        ({"auth_time": -3600}, "not_anew"),  # seconds from now
        ({"auth_time": 3600, "sub": "eve-1"}, "another_person"),
    ],
)
async def test_an_old_sign_in_or_somebody_else_confirms_nothing(stranger, provider, liar, claims, fault):
    await through(stranger, provider, liar)
    liar.claims = {**claims, "auth_time": int(time.time()) + claims["auth_time"]} if "auth_time" in claims else claims
    assert fault in (await through(stranger, provider, liar, "?confirm=1")).text
    assert await db.value("SELECT confirmed_at < now() - interval '1 hour' FROM user_session")


async def test_a_password_confirms_nothing_for_who_came_from_a_provider(agent, stranger, workspace, liar):
    provider = await set_up(workspace, liar.issuer)
    await through(stranger, provider, liar)
    await stranger.open("/account")
    for path, form in (("/confirm", {}), ("/account/password", {"present": "four quiet grey horses"})):
        page = await stranger.fill(path, 422, password="four quiet grey horses", **form)
        assert "Confirm at the provider" in page


# ---- logout from the back channel


async def logged_out(liar, provider, status=200, **claims):
    header, liar.header = liar.header, {"typ": "logout+jwt", **liar.header}
    token = liar.token(**{"jti": f"j-{time.time()}", **LOGOUT, **claims})
    liar.header = header
    async with browser() as back:
        answer = await back.post(f"/sso/{provider}/logout", data={"logout_token": token})
    assert answer.status_code == status, answer.text[-500:]
    return answer.text


@pytest.mark.parametrize("about", [{"sid": "s-1", "sub": None}, {"sid": "s-1"}, {}])
async def test_a_logout_token_ends_the_sessions_it_is_about(stranger, provider, liar, about):
    liar.claims = {"sid": "s-1"}
    await through(stranger, provider, liar)
    liar.claims = {}
    await logged_out(liar, provider, **about)
    assert await sessions() == 0
    assert await noted("session.ended_by_provider") == [("Acme ID", "1 of Acme ID")]


async def test_a_logout_token_ends_a_session_that_is_just_being_begun(provider, liar):
    now = clock.now().timestamp()
    claims = Claims("", "", now, now, "sub-1", email=EMAIL, email_verified=True, sid="s-1")
    come = partial(sign_in.sign_in, await reads.one(provider), claims, Browser("127.0.0.1"))
    await overlapped(come, partial(logged_out, liar, provider, sid="s-1", sub=None))
    assert await sessions() == 0


async def test_other_sessions_go_on(agent, stranger, provider, liar):
    liar.claims = {"sid": "s-1"}
    await through(stranger, provider, liar)  # grace, and a session of hers by password
    liar.claims = {}
    for about in ({"sid": "s-2"}, {"sub": "eve-1"}, {"sid": "s-2", "sub": None}):
        await logged_out(liar, provider, **about)
    assert await sessions() == 2
    await logged_out(liar, provider)
    assert await sessions() == 1


@pytest.mark.parametrize(
    ("claims", "fault"),
    [
        ({"iss": "https://elsewhere.example"}, "issued by another provider"),
        ({"aud": "other"}, "for another application"),
        ({"events": None}, "no logout token"),
        ({"events": {"http://schemas.openid.net/event/backchannel-logout": "yes"}}, "no logout token"),
        ({"events": {"http://schemas.openid.net/event/another": {}}}, "no logout token"),
        ({"nonce": "n-1"}, "no logout token"),
        ({"jti": None}, "no logout token"),
        ({"sub": None}, "no logout token"),
        ({"exp": 1}, "has expired"),
        ({"iat": int(time.time()) - 700}, "has expired"),
        ({"sid": "a\0b"}, "not one signed token"),
    ],
)
async def test_what_is_no_logout_token_ends_nothing(stranger, provider, liar, claims, fault):
    await through(stranger, provider, liar)
    assert fault in await logged_out(liar, provider, 400, **claims)
    assert await sessions() == 1


@pytest.mark.parametrize("typ", ["at+jwt", "secevent+jwt"])
async def test_a_token_of_another_type_ends_nothing(stranger, provider, liar, typ):
    await through(stranger, provider, liar)
    liar.header = {"typ": typ}
    assert "another kind" in await logged_out(liar, provider, 400)
    assert await sessions() == 1


@pytest.mark.parametrize("typ", [None, "JWT", "application/logout+JWT"])
async def test_not_every_provider_names_the_type_of_a_logout_token(stranger, provider, liar, typ):
    await through(stranger, provider, liar)
    liar.header = {"typ": typ}
    await logged_out(liar, provider)
    assert await sessions() == 0


@pytest.mark.parametrize("mangle", [without_signature, with_public_key_as_secret])
async def test_a_logout_token_that_the_provider_did_not_sign_ends_nothing(stranger, provider, liar, mangle):
    await through(stranger, provider, liar)
    liar.mangle = mangle
    assert "not signed with" in await logged_out(liar, provider, 400)
    assert await sessions() == 1


async def test_a_logout_token_counts_once(stranger, provider, liar):
    await logged_out(liar, provider, jti="same")
    await through(stranger, provider, liar)
    assert "used before" in await logged_out(liar, provider, 400, jti="same")
    assert await sessions() == 1
    await db.rows("UPDATE sign_on_used SET until = now() - interval '1 second'")
    await jobs.run("sign_on_used.delete")
    assert await db.value("SELECT count(*) FROM sign_on_used") == 0


async def test_providers_name_their_tokens_each_for_itself(stranger, workspace, liar):
    first, second = [await set_up(workspace, liar.issuer, name, domains=[f"{name}.example"]) for name in ("one", "two")]
    liar.claims = {"email": "eve@two.example"}
    await through(stranger, second, liar)
    liar.claims = {}
    await logged_out(liar, first, jti="1")
    assert await sessions() == 1
    await logged_out(liar, second, jti="1")
    assert await sessions() == 0


async def test_a_removed_provider_ends_its_sessions(stranger, workspace, provider, liar):
    await through(stranger, provider, liar)
    await sso.remove(workspace, provider)
    assert (await stranger.get("/account")).status_code == 303
    assert await db.value("SELECT count(*) FROM user_account") == 1
    assert (await stranger.get(f"/sso/{provider}")).status_code == 404


def test_the_test_s_own_signatures_are_what_they_are_called():
    assert signature("RS256", RSA, b"x") == signature("RS256", RSA, b"x") != signature("PS256", RSA, b"x")
