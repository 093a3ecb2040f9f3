"""Setting up an authenticator app, signing in with it, and losing the phone."""

import re
from datetime import timedelta

import pytest
from msgspec import structs

from leadwire.domain.accounts import changes as accounts
from leadwire.domain.accounts.sign_in.changes import second_factor
from leadwire.infrastructure import clock, db, settings
from tests.interfaces.web.conftest import PASSWORD

EMAIL = "ada@example.org"


def offered(page):
    """The secret that a page shows, and the sealed form of it that its form sends."""
    secret = re.search(r'<code class="said">(\w+)</code>', page)[1]
    return secret, re.search(r'name="offer" value="(\w+)"', page)[1]


def code_of(secret, steps=0):
    now = int(clock.now().timestamp())
    return second_factor._totp(secret).generate(now + 30 * steps).decode()


@pytest.fixture
async def secret(admin):
    """The secret of an admin whose second factor is on."""
    page = await admin.open("/account/second-factor")
    secret, offer = offered(page)
    assert "<svg" in page
    with clock.at(clock.now()):  # the code of the step before is good until this one ends
        page = await admin.fill("/account/second-factor", offer=offer, code=code_of(secret, -1))
    assert "The second factor is on" in page
    return secret


async def password_given(browser):
    page = await browser.fill("/sign-in", email=EMAIL, password=PASSWORD, next="/leads")
    return re.search(r'name="ticket" value="([^"]+)"', page)[1]


async def test_a_wrong_code_switches_nothing_on_and_keeps_the_secret(admin):
    page = await admin.open("/account/second-factor")
    secret, offer = offered(page)
    page = await admin.fill("/account/second-factor", 422, offer=offer, code="000000")
    assert secret in page
    assert not await db.value("SELECT totp_secret IS NOT NULL FROM user_account")


CHOSEN = "MZXW6YTBOJRGC6RTMZXW6YTBOJRGC6RT"


@pytest.mark.parametrize("offer", ["", CHOSEN, "00" * 60, "not hex"])
async def test_a_browser_cannot_choose_the_secret(admin, offer):
    await admin.open("/account/second-factor")
    form = {"secret": CHOSEN, "offer": offer, "code": code_of(CHOSEN)}
    page = await admin.fill("/account/second-factor", 422, **form)
    assert "its secret is not ours" in page
    assert CHOSEN not in page
    assert not await db.value("SELECT totp_secret IS NOT NULL FROM user_account")


async def test_an_offer_is_one_person_s_and_holds_for_15_minutes(admin, agent, monkeypatch):
    secret, offer = offered(await admin.open("/account/second-factor"))
    await agent.open("/account/second-factor")
    await agent.fill("/account/second-factor", 422, offer=offer, code=code_of(secret))
    later = clock.now() + timedelta(seconds=901)
    monkeypatch.setattr(clock, "now", lambda: later)
    await db.rows("UPDATE user_session SET confirmed_at = $1", later)
    page = await admin.fill("/account/second-factor", 422, offer=offer, code=code_of(secret))
    assert "This page is too old" in page
    assert secret not in page


async def test_the_password_alone_does_not_sign_in(admin, stranger, secret):
    ticket = await password_given(stranger)
    assert not stranger.cookies
    assert "Sign in to Leadwire" in await stranger.open("/leads")
    page = await stranger.fill("/sign-in/code", 422, ticket=ticket, code="000000", next="/leads")
    assert "Wrong or used code" in page
    assert not stranger.cookies
    page = await stranger.fill("/sign-in/code", ticket=ticket, code=code_of(secret), next="/leads")
    assert "<title>Leads" in page


async def test_the_secret_is_sealed_in_the_database(secret):
    sealed = await db.value("SELECT totp_secret FROM user_account")
    assert secret.encode() not in sealed


async def test_setting_it_up_signs_other_browsers_out(admin, stranger):
    await stranger.fill("/sign-in", email=EMAIL, password=PASSWORD)
    page = await admin.open("/account/second-factor")
    secret, offer = offered(page)
    await admin.fill("/account/second-factor", offer=offer, code=code_of(secret))
    assert "Sign in to Leadwire" in await stranger.open("/")


async def test_it_can_be_taken_off_by_its_owner(admin, stranger, secret):
    await admin.open("/account")
    assert "The authenticator app is off" in await admin.fill("/account/second-factor/remove")
    assert "<title>Overview" in await stranger.fill("/sign-in", email=EMAIL, password=PASSWORD)
    actions = [row["action"] for row in await db.rows("SELECT action FROM audit_entry ORDER BY id")]
    assert actions[-3:] == ["user.second_factor_added", "user.second_factor_removed", "user.signed_in"]


async def has_second_factor(user_id):
    return await db.value("SELECT totp_secret IS NOT NULL FROM user_account WHERE id = $1", user_id)


async def test_an_admin_helps_a_colleague_who_lost_their_phone(admin, agent):
    page = await agent.open("/account/second-factor")
    secret, offer = offered(page)
    await agent.fill("/account/second-factor", offer=offer, code=code_of(secret))
    page = await admin.open("/team")
    assert "Remove second factor" in page
    grace = await db.value("SELECT id FROM user_account WHERE email = 'grace@example.org'")
    assert "signs in by password alone" in await admin.fill(f"/team/{grace}/second-factor/remove")
    assert not await has_second_factor(grace)
    await admin.fill(f"/team/{grace}/second-factor/remove", 404)


async def test_another_workspaces_admin_cannot_take_it_off(admin, secret):
    ada = await db.value("SELECT id FROM user_account")
    with pytest.raises(second_factor.NotFound):
        await second_factor.remove(await accounts.create_workspace("Another"), ada)
    assert await has_second_factor(ada)


async def test_where_it_is_asked_of_admins_they_can_do_nothing_before(admin, agent, monkeypatch):
    asked = structs.replace(settings.get(), second_factor="admins")
    monkeypatch.setattr(settings, "get", lambda: asked)
    page = await admin.open("/leads")
    assert "Your role needs one here" in page
    secret, offer = offered(page)
    answer = await admin.post("/keys", data={"form_token": admin.token, "name": "CRM", "scope": "leads:read"})
    assert answer.headers["Location"] == "/account/second-factor"
    assert "<title>Leads" in await agent.open("/leads")
    await admin.fill("/account/second-factor", offer=offer, code=code_of(secret))
    assert "<title>Leads" in await admin.open("/leads")
