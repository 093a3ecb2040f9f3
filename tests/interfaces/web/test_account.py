"""One's own account: another password, the browsers that are signed in, and how long a link or a session lasts."""

import hashlib
import re
from base64 import urlsafe_b64decode

import pytest

from leadwire.domain.accounts.changes import team
from leadwire.domain.accounts.sign_in import passwords
from leadwire.infrastructure import db
from leadwire.interfaces.web import router
from tests.conftest import COSTLY
from tests.interfaces.web.conftest import PASSWORD, browser

ADA, ANOTHER = "ada@example.org", "seven loud brown foxes"


async def test_another_password_takes_the_present_one_and_ends_sessions_elsewhere(admin):
    async with browser() as other:
        await other.fill("/sign-in", email=ADA, password=PASSWORD)
        await admin.open("/account")
        wrong = await admin.fill("/account/password", 422, present="not this one", password=ANOTHER)
        assert "The password is not right." in wrong
        assert await db.value("SELECT count(*) FROM user_session") == 2
        await admin.fill("/account/password", present=PASSWORD, password=ANOTHER)
        assert (await other.get("/account")).status_code == 303
        await other.fill("/sign-in", 422, email=ADA, password=PASSWORD)
        await other.fill("/sign-in", email=ADA, password=ANOTHER)


async def test_a_password_counts_as_it_was_typed(admin, stranger):
    chosen = (" Four quiet grey horses" * 9)[: passwords.LONGEST]
    await admin.open("/account")
    await admin.fill("/account/password", present=PASSWORD, password=chosen)
    for other in (chosen + "x", chosen[:-1], chosen.strip(), chosen.lower()):
        await stranger.fill("/sign-in", 422, email=ADA, password=other)
    await stranger.fill("/sign-in", email=ADA, password=chosen)


async def test_browsers_are_listed_and_signed_out_by_their_owner_alone(admin, agent):
    async with browser() as other:
        other.headers["User-Agent"] = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/130.0 Safari/537.36"
        await other.fill("/sign-in", email=ADA, password=PASSWORD)
        ended = await db.value("SELECT id FROM user_session ORDER BY created_at DESC, id DESC LIMIT 1")
        path = f"/account/sessions/{ended}/end"
        page = await admin.open("/account")
        assert path in page
        assert "Chrome on Windows" in page
        assert "Mozilla" not in page
        await agent.fill(path, 404)
        assert (await other.get("/account")).status_code == 200
        assert "That browser is signed out." in await admin.fill(path)
        assert (await other.get("/account")).status_code == 303


async def test_a_session_ends_after_its_life_however_busy(admin):
    await db.rows("UPDATE user_session SET created_at = created_at - interval '15 days'")
    assert (await admin.get("/keys")).status_code == 303


async def test_an_invitation_ends_after_three_days(stranger, workspace):
    token = await team.invite(workspace, None, "agent")
    await db.rows("UPDATE invitation SET expires_at = expires_at - interval '3 days'")
    await stranger.fill(f"/join/{token}", 404, email="eve@example.org", password=PASSWORD)


async def test_passwords_and_sessions_are_stored_as_their_hashes(admin, monkeypatch):
    monkeypatch.setattr(passwords, "_hasher", COSTLY)
    await admin.fill("/account/password", present=PASSWORD, password=ANOTHER)
    stored = await db.value("SELECT password_hash FROM user_account")
    assert stored.startswith("$argon2id$v=19$m=19456,t=2,p=1$")  # what OWASP names first
    token = admin.cookies["leadwire"]
    assert len(urlsafe_b64decode(token + "=")) == 32
    assert await db.value("SELECT hash FROM user_session") == hashlib.sha256(token.encode()).digest()


@pytest.mark.parametrize("path", ["/sign-in", "/join", "/account", "/confirm"])
async def test_a_field_for_a_password_hides_it_and_is_open_to_password_managers(admin, workspace, path):
    async with browser() as stranger:
        offered = f"/join/{await team.invite(workspace, None, 'agent')}"
        page = await (stranger if path in ("/sign-in", "/join") else admin).open(offered if path == "/join" else path)
    fields = [one for one in re.findall("<input [^>]+>", page) if 'name="password"' in one or 'name="present"' in one]
    assert fields
    for field in fields:
        assert 'type="password"' in field
        assert re.search('autocomplete="(current|new)-password"', field)


@pytest.mark.parametrize("path", ["/", "/leads", "/keys", "/account", "/team", "/bots", "/webhooks"])
async def test_signing_out_is_on_each_page(admin, path):
    assert 'action="/sign-out"' in await admin.open(path)


def test_what_changes_how_somebody_signs_in_asks_first():
    actions = [one for one in router.DECLARED if "POST" in one.handler.http_methods]
    unasked = {one.path for one in actions if one.path.startswith("/account/") and not one.confirmed}
    assert unasked == {"/account/name", "/account/password", "/account/notices", "/account/workspaces/{user_id:str}"}
