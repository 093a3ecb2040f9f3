"""One person in several workspaces, and what one workspace can do to somebody's way into another."""

import asyncio
import re
import time

import pytest

from leadwire.domain.accounts import changes as accounts
from leadwire.domain.accounts import keys
from leadwire.domain.accounts.changes import team, workspaces
from leadwire.domain.accounts.sign_in import passwords, tries
from leadwire.infrastructure import clock, db
from tests.interfaces.web.conftest import PASSWORD, browser, signed_in
from tests.interfaces.web.test_second_factor import code_of, offered
from tests.mailing import mails
from tests.oidc.lying import EMAIL, lying, set_up, through

CEO = "ceo@beta.test"
ANOTHER = "another four quiet horses"
GUESS = "a guess of nobody's horse"
pytestmark = pytest.mark.usefixtures("workspace")


@pytest.fixture
async def beta(workspace):
    return await accounts.create_workspace("Beta")


@pytest.fixture
def mailing(smtp, set_mail):
    return set_mail(f"smtp://127.0.0.1:{smtp.port}?tls=none", public_url="http://test")


@pytest.fixture
def hashed(monkeypatch):
    """The lanes of the passwords that are compared."""
    lanes, matches = [], passwords.matches

    async def noted(stored, password, lane=passwords.KNOWN):
        lanes.append(lane)
        return await matches(stored, password, lane)

    monkeypatch.setattr(passwords, "matches", noted)
    return lanes


@pytest.fixture
async def liar(database):
    async with lying() as made:
        yield made


async def link_from(inviter, email=CEO, role="agent"):
    """The link that was mailed."""
    await inviter.open("/team")
    page = await inviter.fill("/team", 201, email=email, role=role)
    assert "/join/" not in page
    return [values["path"] for to, values in await mails("invitation") if to == email][-1]


async def join(guest, link, status=200, email=CEO, password=PASSWORD):
    """Join with the login that somebody has."""
    token = link.removeprefix("/join/")
    assert "Sign in to join" in await guest.open(f"/sign-in?join={token}")
    return await guest.fill("/sign-in", status, join=token, email=email, password=password)


async def here(guest):
    """Where somebody is, and where they could go."""
    page = await guest.open("/account")
    return re.search(r"<p>\S+, \w+ of (.+)</p>", page)[1], re.findall(r"/account/workspaces/(\w+)", page)


async def logins(email=CEO):
    sql = "SELECT verified_at IS NOT NULL AS verified, (SELECT count(*) FROM user_account u WHERE u.login_id = l.id)"
    return sorted(tuple(row) for row in await db.rows(f"{sql} FROM login l WHERE email = $1", email))


async def in_both(workspace, beta, guest):
    """Somebody who was in the first workspace, and has joined Beta."""
    async with signed_in(workspace, "agent", CEO):
        pass
    await join(guest, f"/join/{await team.invite(beta, CEO, 'viewer')}")


async def test_an_address_that_another_workspace_has_claimed_joins_all_the_same(workspace, beta, mailing):
    async with signed_in(workspace, "admin", CEO) as stranger, signed_in(beta, "admin", "bo@beta.test") as bo:
        link = await link_from(bo)
        async with browser() as ceo:
            await ceo.fill(link, password=ANOTHER)
            assert await here(ceo) == ("Beta", [])
        assert (await here(stranger))[1] == []
    assert await logins() == [(False, 1), (True, 1)]
    for password, where in ((PASSWORD, "Test"), (ANOTHER, "Beta")):
        async with browser() as one:
            await one.fill("/sign-in", email=CEO, password=password)
            assert (await here(one))[0] == where


async def test_whoever_has_an_account_joins_with_it_and_switches(workspace, beta, mailing):
    async with signed_in(workspace, "admin", "al@alpha.test") as al, signed_in(beta, "admin", "bo@beta.test") as bo:
        first, second = await link_from(al), await link_from(bo, role="admin")
        async with browser() as ceo:
            await ceo.fill(first, password=PASSWORD)
            assert "Sign in with it" in await ceo.fill(second, 409, password=ANOTHER)
            assert "not right" in await join(ceo, second, 422, password=ANOTHER)
            await join(ceo, second)
            name, (elsewhere,) = await here(ceo)
            assert name == "Beta"
            await ceo.fill(f"/account/workspaces/{elsewhere}")
            assert (await here(ceo))[0] == "Test"
            assert (await ceo.get("/team")).status_code == 403  # an admin in Beta alone
        await bo.fill(second, 404, password=ANOTHER)
    assert await logins() == [(True, 2)]
    noted = "SELECT count(*) FROM audit_entry WHERE action = 'user.signed_in' AND detail = 'from another workspace'"
    assert await db.value(noted) == 1


async def test_without_mail_the_link_tells_nobody_of_an_account_elsewhere(workspace, beta, stranger):
    async with signed_in(workspace, "agent", CEO):
        pages = []
        for email in (CEO, "cea@beta.test"):
            link = f"/join/{await team.invite(beta, email, 'agent')}"
            page = await stranger.open(link) + await stranger.fill(link, password=ANOTHER)
            pages.append(re.sub(r"[\w-]{43,}|\d+ (second|minute)s? ago", "", page).replace(email, ""))
            stranger.cookies.clear()
    own = r"user_\w+|avatar \w+"
    assert re.sub(own, "", pages[0]) == re.sub(own, "", pages[1])
    assert await logins() == [(False, 1), (False, 1)]


async def test_a_browser_that_one_login_knows_is_a_stranger_s_to_another_of_its_address(workspace, beta, hashed):
    async with signed_in(workspace, "agent", CEO) as stranger, signed_in(beta, "agent", CEO):
        sql = "SELECT l.known_browsers[1] FROM login l JOIN user_account u ON u.login_id = l.id WHERE workspace_id = $1"
        mark = await db.value(sql, workspace)
        for _ in range(tries.PER_NETWORK):
            await stranger.fill("/sign-in", 422, email=CEO, password=GUESS)
            await tries.forgive(f"{CEO} {mark}")
        before = len(hashed)
        await stranger.fill("/sign-in", 422, email=CEO, password=GUESS)
        assert hashed[before:] == [passwords.KNOWN]


@pytest.mark.parametrize("elsewhere", [True, False])
async def test_no_browser_that_one_login_knows_can_ask_for_another_of_its_address(workspace, beta, hashed, elsewhere):
    if elsewhere:
        async with signed_in(workspace, "agent", CEO):
            pass
    link = f"/join/{await team.invite(beta, CEO, 'agent')}"
    guesses, statuses = [GUESS] * 4 + [ANOTHER] + [GUESS] * 2, []
    async with browser() as admin:
        await admin.fill(link, password=ANOTHER)
        for password in guesses:
            answer = await admin.post("/sign-in", data={"email": CEO, "password": password})
            statuses.append(answer.status_code)
    assert statuses == [422] * 4 + [303] + [422] * 2
    both = [passwords.KNOWN, passwords.STRANGERS]
    assert hashed == both * 4 + both[:1] + both + both[:1]


async def test_an_invitation_is_for_its_address_and_once_for_each_colleague(workspace, beta):
    async with signed_in(workspace, "agent", "eve@alpha.test"), browser() as guest:
        for email, needle in ((CEO, "another address"), (None, "Beta"), (None, "No account can be made")):
            link = f"/join/{await team.invite(beta, email, 'agent')}"
            assert needle in await join(guest, link, 200 if needle == "Beta" else 409, email="eve@alpha.test")
    assert await logins("eve@alpha.test") == [(False, 2)]


async def test_of_two_invitations_that_are_accepted_at_once_one_makes_the_login(workspace, beta, mailing):
    async with signed_in(workspace, "admin", "al@alpha.test") as al, signed_in(beta, "admin", "bo@beta.test") as bo:
        links = [await link_from(one) for one in (al, bo)]
    async with browser() as one, browser() as other:
        both = zip((one, other), links, strict=True)
        answers = await asyncio.gather(*(it.post(link, data={"password": PASSWORD}) for it, link in both))
        assert sorted(answer.status_code for answer in answers) == [303, 409]
        late = next(at for at, answer in enumerate(answers) if answer.status_code == 409)
        await join((one, other)[late], links[late])
    assert await logins() == [(True, 2)]


async def test_a_reset_goes_to_whom_the_address_is_verified_for(workspace, beta, mailing, stranger):
    async with signed_in(workspace, "agent", CEO), signed_in(beta, "admin", "bo@beta.test") as bo:
        await stranger.fill(await link_from(bo), password=ANOTHER)
    await stranger.fill("/forgot-password", email=CEO)
    ((_, values),) = await mails("password_reset")
    await stranger.fill(values["path"], password=f"{ANOTHER} again")
    sql = "SELECT password_hash FROM login WHERE (verified_at IS NOT NULL) = $1"
    assert await passwords.matches(await db.value(sql, True), f"{ANOTHER} again")
    assert await passwords.matches(await db.value(sql, False), PASSWORD)


async def test_a_form_of_the_workspace_before_changes_nothing_in_the_other(workspace, beta, stranger):
    await in_both(workspace, beta, stranger)
    _, (elsewhere,) = await here(stranger)
    before = stranger.token
    await stranger.fill(f"/account/workspaces/{elsewhere}")
    stranger.token = before
    await stranger.fill("/account/password", 403, present=PASSWORD, password=ANOTHER)
    assert await db.value("SELECT count(*) FROM user_session WHERE user_id = $1", elsewhere) == 2  # joined, switched


async def test_a_provider_opens_its_own_workspace_alone(workspace, beta, liar, stranger):
    async with signed_in(workspace, "agent", EMAIL), browser() as guest:
        await join(guest, f"/join/{await team.invite(beta, EMAIL, 'admin')}", email=EMAIL)
    provider = await set_up(workspace, liar.issuer)
    liar.claims = {"auth_time": int(time.time())}
    await through(stranger, provider, liar)
    mark = keys.digest(stranger.cookies["leadwire-browser"]).hex()
    assert mark not in await db.value("SELECT known_browsers FROM login")
    assert await here(stranger) == ("Test", [])
    for path in ("switch", "/account/second-factor/remove", "/account/recovery-codes", "/account/passkeys/x/remove"):
        account = await db.value("SELECT id FROM user_account WHERE workspace_id = $1", beta)
        await stranger.fill(path.replace("switch", f"/account/workspaces/{account}"), 409, code="", made="", name="x")
    assert (await here(stranger))[0] == "Test"
    assert await db.value("SELECT count(*) FROM user_session s JOIN user_account u ON u.id = s.user_id"
                          " WHERE s.provider_id IS NOT NULL AND u.workspace_id = $1", beta) == 0  # fmt: skip


async def test_a_provider_makes_an_account_that_is_nobody_else_s(workspace, beta, liar, stranger):
    async with signed_in(beta, "admin", EMAIL) as owner:
        await through(stranger, await set_up(workspace, liar.issuer), liar)
        assert [(await here(one)) for one in (stranger, owner)] == [("Test", []), ("Beta", [])]


async def proven(workspace, liar, **more):
    """A provider of a workspace that has proven its domain."""
    provider = await set_up(workspace, liar.issuer, **more)
    await db.rows("UPDATE email_domain SET proven_at = now(), taken_over_until = NULL")
    return provider


async def test_who_comes_from_a_provider_of_a_proven_domain_has_their_address(workspace, beta, liar, stranger, mailing):
    await through(stranger, await proven(workspace, liar), liar)
    assert await logins(EMAIL) == [(True, 1)]
    async with signed_in(beta, "admin", "bo@beta.test") as bo, browser() as person:
        await person.fill(await link_from(bo, EMAIL), password=ANOTHER)
        name, (elsewhere,) = await here(person)
        await person.fill(f"/account/workspaces/{elsewhere}")
        assert (name, (await here(person))[0]) == ("Beta", "Test")
    assert await logins(EMAIL) == [(True, 2)]
    told = "SELECT workspace_id FROM audit_entry WHERE action = 'user.password_changed'"
    assert await db.value(told) == workspace


async def test_a_login_from_before_is_verified_by_its_provider(workspace, beta, liar, stranger, mailing):
    async with signed_in(workspace, "agent", EMAIL):
        assert await logins(EMAIL) == [(False, 1)]
    await through(stranger, await proven(workspace, liar), liar)
    async with signed_in(beta, "admin", "bo@beta.test") as bo, browser() as person:
        link = await link_from(bo, EMAIL)
        assert "Sign in with it" in await person.fill(link, 409, password=ANOTHER)
        await join(person, link, email=EMAIL)
    assert await logins(EMAIL) == [(True, 2)]


@pytest.mark.parametrize("doubt", ["taken over", "not vouched for", "elsewhere", "another login", "another address"])
async def test_a_provider_s_word_counts_for_no_more_than_its_workspace_has_proven(
    workspace, beta, liar, stranger, doubt
):
    if doubt in ("elsewhere", "another login"):
        async with signed_in(beta, "agent", EMAIL), browser() as guest:
            if doubt == "elsewhere":
                await join(guest, f"/join/{await team.invite(workspace, EMAIL, 'agent')}", email=EMAIL)
    provider = await proven(workspace, liar, trusts_email=doubt == "not vouched for")
    if doubt == "taken over":
        await db.rows("UPDATE email_domain SET proven_at = NULL, taken_over_until = now() + interval '1 day'")
    if doubt == "another address":
        liar.claims = {"email": "before@example.org"}
        await db.rows("UPDATE email_domain SET proven_at = NULL, taken_over_until = now() + interval '1 day'")
        await through(stranger, provider, liar)
        await db.rows("UPDATE email_domain SET proven_at = now(), taken_over_until = NULL")
    liar.claims = {"email_verified": doubt != "not vouched for"}
    assert (await through(stranger, provider, liar)).status_code == 303
    assert await db.value("SELECT count(verified_at) FROM login") == 0


@pytest.mark.parametrize(
    ("policy", "needle"),
    [
        ("sso_enforced = true", "single sign-on"),
        ("networks = '{203.0.113.0/24}'", "certain networks"),
        ("suspended_at = now()", "suspended"),
    ],
)
async def test_nobody_switches_past_what_a_workspace_asks_for(workspace, beta, stranger, policy, needle):
    await in_both(workspace, beta, stranger)
    account = await db.value("SELECT id FROM user_account WHERE workspace_id = $1", workspace)
    await db.rows(f"UPDATE workspace SET {policy} WHERE id = $1", workspace)
    assert needle in await stranger.fill(
        f"/account/workspaces/{account}", 404 if needle == "suspended" else 409, form_token=await token_of(stranger)
    )
    assert (await here(stranger))[0] == "Beta"
    async with browser() as again:  # and the next sign-in opens the other one
        await again.fill("/sign-in", email=CEO, password=PASSWORD)
        assert (await here(again))[0] == "Beta"


async def token_of(guest):
    await guest.open("/account")
    return guest.token


async def test_who_switches_has_no_more_tries_of_the_password(workspace, beta, stranger):
    await in_both(workspace, beta, stranger)
    _, (other,) = await here(stranger)
    for _ in range(tries.PER_HOLDER):
        await stranger.fill("/confirm", 422, password="a guess")
    await stranger.fill(f"/account/workspaces/{other}")
    await stranger.fill("/confirm", 429, password=PASSWORD)


async def test_a_second_factor_is_no_admin_s_to_remove_who_is_not_alone(workspace, beta, stranger):
    await in_both(workspace, beta, stranger)
    await db.rows("UPDATE login SET totp_secret = 'sealed', totp_step = 1")
    account = await db.value("SELECT id FROM user_account WHERE workspace_id = $1", workspace)
    async with signed_in(workspace, "admin", "al@alpha.test") as al:
        await al.open("/team")
        assert "another workspace" in await al.fill(f"/team/{account}/second-factor/remove", 409)
    assert await db.value("SELECT totp_secret FROM login WHERE email = $1", CEO) == b"sealed"


async def test_a_removal_ends_the_sessions_of_its_workspace_alone(workspace, beta, stranger):
    await in_both(workspace, beta, stranger)
    async with browser() as other, signed_in(workspace, "admin", "al@alpha.test") as al:
        await other.fill("/sign-in", email=CEO, password=PASSWORD)
        if (await here(other))[0] == "Beta":
            await other.fill(f"/account/workspaces/{(await here(other))[1][0]}")
        await al.open("/team")
        account = await db.value("SELECT id FROM user_account WHERE workspace_id = $1 AND role = 'agent'", workspace)
        await al.fill(f"/team/{account}/remove")
        assert (await other.get("/leads")).headers["Location"].startswith("/sign-in")
    assert await here(stranger) == ("Beta", [])
    async with browser() as again:
        await again.fill("/sign-in", email=CEO, password=PASSWORD)
        assert (await here(again))[0] == "Beta"


async def test_with_the_last_account_its_login_goes(workspace, beta, stranger):
    await in_both(workspace, beta, stranger)
    accounts_of = [row["id"] for row in await db.rows("SELECT id FROM user_account ORDER BY created_at")]
    await asyncio.gather(*(db.rows("DELETE FROM user_account WHERE id = $1", account) for account in accounts_of))
    assert await logins() == []


async def test_another_password_ends_every_other_session_wherever_it_is(workspace, beta, stranger):
    await in_both(workspace, beta, stranger)
    async with browser() as other:
        await other.fill("/sign-in", email=CEO, password=PASSWORD)
        _, (elsewhere,) = await here(other)
        await other.fill(f"/account/workspaces/{elsewhere}")
        await other.open("/account")
        await other.fill("/account/password", present=PASSWORD, password=ANOTHER)
    assert (await stranger.get("/leads")).headers["Location"].startswith("/sign-in")


async def test_a_workspace_that_is_suspended_holds_nobody_up_who_joins_another(workspace, beta, stranger):
    async with signed_in(workspace, "agent", CEO):
        await workspaces.set_suspended(workspace, suspended=True)
        await join(stranger, f"/join/{await team.invite(beta, CEO, 'agent')}")
    assert await here(stranger) == ("Beta", [])


async def test_failed_tries_are_noted_wherever_the_login_opens(workspace, beta, stranger):
    await in_both(workspace, beta, stranger)
    await stranger.fill("/sign-in", 422, email=CEO, password=ANOTHER)
    await tries.write()
    noted = await db.rows("SELECT workspace_id FROM audit_entry WHERE action = $1", tries.FAILED)
    assert {row["workspace_id"] for row in noted} == {workspace, beta}


async def test_what_somebody_changes_of_their_login_is_noted_wherever_it_opens(workspace, beta, stranger):
    await in_both(workspace, beta, stranger)
    page = await stranger.open("/account/second-factor")
    secret, offer = offered(page)
    await stranger.fill("/account/second-factor", offer=offer, code=code_of(secret))
    await stranger.fill("/account/recovery-codes", 201)
    await stranger.fill("/account/second-factor/remove")
    await stranger.fill("/account/password", present=PASSWORD, password=ANOTHER)
    accounts = {
        tuple(row) for row in await db.rows("SELECT workspace_id, id FROM user_account WHERE email_address = $1", CEO)
    }
    assert len(accounts) == 2
    for action in (
        "user.second_factor_added", "recovery_codes.made", "user.second_factor_removed", "user.password_changed",
    ):  # fmt: skip
        noted = await db.rows("SELECT workspace_id, subject FROM audit_entry WHERE action = $1", action)
        assert {tuple(row) for row in noted} == accounts, action
        assert len(noted) == 2


async def test_the_version_before_signs_in_and_changes_what_counts_for_both(workspace, beta, stranger):
    """Its statements, as it sends them: an account has an address that no other has, and what one signs in with."""
    added = """INSERT INTO user_account (id, workspace_id, email, role, password_hash, created_at, operator)
        VALUES ($1, $2, $3, 'agent', $4, $5, false) ON CONFLICT ((lower(email))) DO NOTHING RETURNING id"""
    hashed = await passwords.digest(PASSWORD)
    assert len(await db.rows(added, "user_one", workspace, CEO, hashed, clock.now())) == 1
    await join(stranger, f"/join/{await team.invite(beta, CEO, 'agent')}")
    assert await db.rows(added, "user_two", beta, CEO.upper(), hashed, clock.now()) == []
    assert await db.value("SELECT count(*) FROM login") == 1
    (found,) = await db.rows("SELECT id, password_hash FROM user_account u WHERE lower(email) = $1", CEO)
    assert tuple(found) == ("user_one", hashed)
    again = await passwords.digest(ANOTHER)
    await db.rows("UPDATE user_account SET password_hash = $1 WHERE id = 'user_one'", again)
    assert await db.value("SELECT password_hash FROM login") == again
    async with browser() as one:
        await one.fill("/sign-in", email=CEO, password=ANOTHER)
        await one.open("/account")
        await one.fill("/account/password", present=ANOTHER, password=PASSWORD)
    assert await passwords.matches(
        await db.value("SELECT password_hash FROM user_account WHERE id = 'user_one'"), PASSWORD
    )
