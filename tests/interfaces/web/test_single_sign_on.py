"""Providers on the screen: set up, tried out, enforced, and never without a way in."""

import re

import pytest

from leadwire.domain.accounts import keys
from leadwire.domain.accounts.sign_in.changes import password_reset
from leadwire.domain.accounts.sso import changes as sso
from leadwire.domain.accounts.table import IdentityProvider
from leadwire.infrastructure import clock, db, secret_box
from leadwire.infrastructure.errors import NotFound
from tests import make
from tests.interfaces.web.conftest import PASSWORD
from tests.oidc.lying import CLIENT, SECRET, jwk, lying, set_up, through
from tests.oidc.lying import RSA as KEY

GIVEN = {
    "name": "Acme ID", "client_id": CLIENT, "client_secret": SECRET, "domains": "Example.org, @acme.example",
    "default_role": "agent", "role_claim": "groups", "roles": "sales = agent\r\ncn=it, dc=x = admin\r\n",
}  # fmt: skip
ADA = {"email": "ada@example.org"}


@pytest.fixture
async def liar(database):
    async with lying() as made:
        yield made


async def noted(action):
    found = await db.rows("SELECT detail FROM audit_entry WHERE action = $1 ORDER BY id", action)
    return [row["detail"] for row in found]


async def added(admin, issuer):
    await admin.open("/single-sign-on")
    page = await admin.fill("/single-sign-on", name="Acme ID", issuer=issuer)
    for domain in ("example.org", "acme.example"):
        await make.domain(await db.value("SELECT id FROM workspace"), domain)
    return re.search(r"/sso/(idp_\w+)/callback", page)[1]


async def expires():
    await db.rows("UPDATE user_session SET confirmed_at = confirmed_at - interval '11 minutes'")


async def test_a_provider_is_set_up_and_signs_somebody_in(admin, stranger, liar):
    provider = await added(admin, liar.issuer)
    assert "not set up yet" in (await stranger.get(f"/sso/{provider}")).text
    page = await admin.fill(f"/single-sign-on/{provider}", **GIVEN)
    assert "Saved." in page
    for needle in (
        "example.org acme.example",
        "sales = agent\ncn=it, dc=x = admin",
        f"http://test/sso/{provider}/logout",
    ):
        assert needle in page
    assert SECRET not in page
    stored = await db.row("SELECT * FROM identity_provider")
    place = secret_box.place(IdentityProvider.client_secret, provider)
    assert secret_box.get().open(stored["client_secret"], place) == SECRET
    assert (await through(stranger, provider, liar)).status_code == 303
    assert (await noted("sso.provider_added"), SECRET in str(await noted("sso.provider_changed"))) == (
        [liar.issuer],
        False,
    )
    assert "domains: [] -> ['example.org', 'acme.example']" in (await noted("sso.provider_changed"))[0]
    page = await admin.fill(f"/single-sign-on/{provider}", **{**GIVEN, "client_secret": "", "name": "Acme"})
    assert secret_box.get().open(await db.value("SELECT client_secret FROM identity_provider"), place) == SECRET
    assert await noted("sso.provider_changed") == [(await noted("sso.provider_changed"))[0], "name: Acme ID -> Acme"]
    for ticked in ({"trusts_email": "on"}, {}):
        await admin.fill(f"/single-sign-on/{provider}", **GIVEN | {"client_secret": "", "name": "Acme"} | ticked)
        assert await db.value("SELECT trusts_email FROM identity_provider") is bool(ticked)
    await admin.fill(f"/single-sign-on/{provider}", name="Acme again")
    assert (await noted("sso.provider_changed"))[4:] == ["name: Acme -> Acme again"], (
        "what a form from before an upgrade lacks is as it was"
    )


@pytest.mark.parametrize(
    "issuer",
    ["", "ftp://x.example", "http://login.example.com", "https://10.0.0.1", "https://x.example/?a=b", "https://[", "x"],
)
async def test_an_issuer_that_may_not_be_called(admin, issuer):
    await admin.open("/single-sign-on")
    await admin.fill("/single-sign-on", 422, name="Acme ID", issuer=issuer)
    assert await db.value("SELECT count(*) FROM identity_provider") == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"domains": ""}, {"domains": "example"}, {"domains": "exa mple_.org"}, {"domains": "gmail.com"},
        {"domains": " ".join(f"d{n}.example" for n in range(21))}, {"client_id": ""}, {"client_id": "a\nb"},
        {"client_secret": ""}, {"client_secret": "x" * 256}, {"default_role": "owner"}, {"roles": "sales"},
        {"roles": "sales = owner"}, {"role_claim": ""}, {"name": ""},
        {"roles": "\n".join(f"g{n} = agent" for n in range(21))},
    ],
    ids=str,
)  # fmt: skip
async def test_what_is_no_set_up(admin, liar, wrong):
    provider = await added(admin, liar.issuer)
    page = await admin.fill(f"/single-sign-on/{provider}", 422, **GIVEN | wrong)
    assert 'class="error"' in page
    assert await db.value("SELECT client_secret FROM identity_provider") is None


async def test_changes_ask_for_the_password(admin, workspace, liar):
    provider = await set_up(workspace, liar.issuer)
    await admin.open("/single-sign-on")
    await expires()
    user = await db.value("SELECT id FROM user_account")
    for path in (
        "/single-sign-on", f"/single-sign-on/{provider}", f"/single-sign-on/{provider}/remove",
        "/single-sign-on-enforced", "/single-sign-on-enforced/end", f"/single-sign-on-emergency/{user}",
    ):  # fmt: skip
        assert "Confirm it is you" in await admin.fill(path, name="x", issuer=liar.issuer)


async def test_there_are_so_many_providers_at_most(admin, liar, monkeypatch):
    await added(admin, liar.issuer)
    monkeypatch.setattr(sso, "_MOST", 1)
    await admin.open("/single-sign-on")
    page = await admin.fill("/single-sign-on", 409, name="Another", issuer=liar.issuer)
    assert "A workspace has at most 1 providers." in page


async def test_another_workspace_s_provider_is_not_there(admin, liar):
    from leadwire.domain.accounts import changes as accounts

    theirs = await set_up(await accounts.create_workspace("Other"), liar.issuer)
    await admin.open(f"/single-sign-on/{theirs}", 404)
    for path in ("", "/test", "/remove"):
        await admin.fill(f"/single-sign-on/{theirs}{path}", 404, **GIVEN)
    assert await db.value("SELECT name FROM identity_provider") == "Acme ID"


async def test_a_test_says_that_all_is_well(admin, workspace, liar):
    provider = await set_up(workspace, liar.issuer)
    liar.metadata = {"code_challenge_methods_supported": ["S256"]}
    liar.answers["/token"] = 400, {}, {"error": "invalid_grant"}
    await admin.open(f"/single-sign-on/{provider}")
    page = await admin.fill(f"/single-sign-on/{provider}/test")
    for name in ("Its configuration", "Its keys", "PKCE", "Client id and secret"):
        assert re.search(rf'pill good"[^/]+<path d="[^"]+"/></svg>{name}<', page), name


@pytest.mark.parametrize(
    ("lie", "needle"),
    [
        (lambda liar: liar.metadata.update(issuer="https://x.example"), "it says https://x.example"),
        (lambda liar: liar.answers.update({"/.well-known/openid-configuration": (404, {}, b"")}), "answered 404"),
        (lambda liar: liar.metadata.update(jwks_uri="http://10.0.0.1/k"), "10.0.0.1 is not a public address"),
        (lambda liar: liar.metadata.update(code_challenge_methods_supported=["plain"]), "does not know S256"),
        (lambda liar: liar.metadata.update(id_token_signing_alg_values_supported=["HS256"]), "it knows HS256"),
        (lambda liar: liar.keys.clear(), "publishes no key"),
        (lambda liar: liar.keys.extend(jwk(KEY, f"{n}") for n in range(400)), "64 KiB or more"),
        (lambda liar: liar.answers.update({"/token": (401, {}, {"error": "invalid_client"})}), "Copy client id"),
    ],
)
async def test_a_test_names_what_is_wrong(admin, workspace, liar, lie, needle):
    provider = await set_up(workspace, liar.issuer)
    lie(liar)
    await admin.open(f"/single-sign-on/{provider}")
    assert needle in await admin.fill(f"/single-sign-on/{provider}/test")


async def test_thirty_tests_in_five_minutes(admin, workspace, liar):
    provider = await set_up(workspace, liar.issuer)
    liar.answers["/.well-known/openid-configuration"] = 404, {}, b""
    await admin.open(f"/single-sign-on/{provider}")
    for _ in range(30):
        await admin.fill(f"/single-sign-on/{provider}/test")
    assert "Too many tests" in await admin.fill(f"/single-sign-on/{provider}/test", 429)


@pytest.fixture
async def enforced(admin, workspace, stranger, liar):
    """A provider that Ada came from, with her as the emergency account; `stranger` is her browser."""
    provider = await set_up(workspace, liar.issuer, default_role="agent")
    liar.claims = ADA
    await through(stranger, provider, liar)
    await db.rows("UPDATE user_session SET confirmed_at = now()")
    await db.rows("UPDATE user_account SET break_glass = true WHERE email = $1", ADA["email"])
    await stranger.open("/single-sign-on")
    assert "Passwords are off" in await stranger.fill("/single-sign-on-enforced")
    return provider


async def test_enforcing_takes_an_emergency_account_and_an_own_sign_in(admin, workspace, stranger, liar):
    provider = await set_up(workspace, liar.issuer)
    await admin.open("/single-sign-on")
    assert "Choose an emergency account first" in await admin.fill("/single-sign-on-enforced", 409)
    ada = await db.value("SELECT id FROM user_account")
    assert "ada@example.org is an emergency account now." in await admin.fill(
        f"/single-sign-on-emergency/{ada}", on="yes"
    )
    assert "Sign in through the provider first" in await admin.fill("/single-sign-on-enforced", 409)
    liar.claims = ADA
    await through(admin, provider, liar)
    await db.rows("UPDATE user_session SET confirmed_at = now()")
    await admin.open("/single-sign-on")
    assert "Passwords are off" in await admin.fill("/single-sign-on-enforced")
    assert await noted("sso.emergency_account") == ["on"]
    assert await noted("sso.enforced") == [""]


async def test_whoever_gave_a_password_is_out_and_stays_out(agent, workspace, enforced):
    assert (await agent.get("/leads")).status_code == 303
    page = await agent.fill("/sign-in", 422, email="grace@example.org", password=PASSWORD)
    assert "signs in by single sign-on, and passwords are off" in page
    assert (
        await db.value(
            "SELECT count(*) FROM user_session s JOIN user_account u ON u.id = s.user_id"
            " WHERE u.email = 'grace@example.org' AND s.provider_id IS NULL"
        )
        == 1
    )  # of before; in vain
    await sso.allow_passwords(workspace)
    assert (await agent.get("/leads")).status_code == 200


async def test_a_password_is_not_reset_either(agent, enforced):
    grace, ada = [row["id"] for row in await db.rows("SELECT id FROM user_account ORDER BY email DESC")]
    for user, token in ((grace, "for-grace"), (ada, "for-ada")):
        until = clock.now() + password_reset.LIFE
        await db.rows("INSERT INTO password_reset VALUES ($1, $2, $3)", user, keys.digest(token), until)
    with pytest.raises(NotFound):
        await password_reset.owner_of("for-grace")
    assert (await password_reset.owner_of("for-ada"))["email"] == "ada@example.org"
    assert await password_reset._OWNERS.row(email="grace@example.org") is None


async def test_an_emergency_account_gets_in_by_password(admin, enforced):
    assert (await admin.get("/leads")).status_code == 200
    await admin.fill("/sign-in", email="ada@example.org", password=PASSWORD)
    assert (await admin.get("/leads")).status_code == 200


async def test_a_link_makes_no_account_with_a_password(workspace, enforced):
    from leadwire.domain.accounts.changes import team
    from tests.interfaces.web.conftest import browser

    link = await team.invite(workspace, "new@example.org", "agent")
    async with browser() as new:
        page = await new.fill(f"/join/{link}", 409, email="new@example.org", password=PASSWORD)
    assert "Your team signs in by single sign-on" in page
    assert await db.value("SELECT count(*) FROM user_account") == 1


async def test_there_is_always_a_way_in(admin, workspace, enforced):
    ada = await db.value("SELECT id FROM user_account")
    await admin.open("/single-sign-on")
    assert "The last emergency account stays one" in await admin.fill(f"/single-sign-on-emergency/{ada}", 409)
    assert "allow passwords first" in await admin.fill(f"/single-sign-on/{enforced}/remove", 409)
    await db.rows("INSERT INTO user_account (id, workspace_id, email, role, created_at)"
                  " VALUES ('user_2', $1, 'bob@example.org', 'admin', now())", workspace)  # fmt: skip
    for path, form in ((f"/team/{ada}/role", {"role": "agent"}), (f"/team/{ada}/remove", {})):
        assert "An emergency account stays an admin" in await admin.fill(path, 409, **form)
    assert "Passwords are allowed again." in await admin.fill("/single-sign-on-enforced/end")
    assert await db.value("SELECT sso_enforced FROM workspace") is False


async def test_an_operator_allows_passwords_again(agent, workspace, enforced):
    assert [await sso.allow_passwords(workspace, by_operator=True) for _ in range(2)] == [True, False]
    assert (await agent.get("/leads")).status_code == 200
    assert await db.value("SELECT actor FROM audit_entry WHERE action = 'sso.passwords_allowed'") == "operator"


async def test_nobody_else_becomes_an_emergency_account(admin, agent, workspace):
    await admin.open("/single-sign-on")
    grace = await db.value("SELECT id FROM user_account WHERE email = 'grace@example.org'")
    await admin.fill(f"/single-sign-on-emergency/{grace}", 404, on="yes")
    assert await db.value("SELECT count(*) FROM user_account WHERE break_glass") == 0
