"""API keys on the screen."""

import re

import pytest

from leadwire.domain.accounts.changes import team
from leadwire.domain.accounts.sign_in.changes import sessions
from leadwire.infrastructure import db
from tests.interfaces.web.conftest import signed_in


async def made(admin, **fields):
    await admin.open("/keys")
    page = await admin.fill("/keys", 201, **{"name": "CRM", "scope": ["leads:read"], "life": "", **fields})
    return re.search(r"lw_\w+", page)[0]


async def status(client, key):
    return (await client.get("/v1/leads", headers={"Authorization": f"Bearer {key}"})).status_code


async def test_a_key_works_and_is_shown_once(admin, stranger):
    key = await made(admin)
    assert await status(stranger, key) == 200
    assert key not in await admin.open("/keys")


async def test_a_form_that_is_held_back_until_its_session_has_ended_makes_no_key(admin, workspace, monkeypatch):
    monkeypatch.setattr(sessions, "CHECKED_EVERY", 0.0)
    async with signed_in(workspace, "admin", "bo@example.org") as removed:

        async def held():
            yield f"form_token={removed.token}&name=CRM&".encode()
            user = await db.value("SELECT id FROM user_account WHERE email_address = 'bo@example.org'")
            await team.remove_user(workspace, user)
            yield b"scope=leads:read&life="

        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        answer = await removed.post("/keys", content=held(), headers=kind)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/sign-in")
    assert await db.value("SELECT count(*) FROM api_key") == 0


async def test_a_revoked_key_ends(admin, stranger):
    key = await made(admin)
    await admin.open("/keys")
    page = await admin.fill(f"/keys/{await db.value('SELECT id FROM api_key')}/revoke")
    assert "Revoked" in page
    assert await status(stranger, key) == 401


async def test_a_rolled_key_has_a_successor_with_the_same_scopes(admin, stranger):
    await made(admin)
    await admin.open("/keys")
    page = await admin.fill(f"/keys/{await db.value('SELECT id FROM api_key')}/roll", 201, overlap="3600")
    assert await status(stranger, re.search(r"lw_\w+", page)[0]) == 200
    await admin.open("/keys")
    old = await db.value("SELECT id FROM api_key WHERE successor IS NOT NULL")
    assert "This key was rolled before." in await admin.fill(f"/keys/{old}/roll", 409, overlap="3600")


@pytest.mark.parametrize("overlap", ["--5", "-", "5-", "²", "9" * 30])
async def test_a_number_that_is_none_is_told(admin, overlap):
    await made(admin)
    await admin.open("/keys")
    await admin.fill(f"/keys/{await db.value('SELECT id FROM api_key')}/roll", 422, overlap=overlap)


async def test_what_was_typed_stays_when_something_is_wrong(admin):
    await admin.open("/keys")
    page = await admin.fill("/keys", 422, name='"><script>alert(1)</script>', life="")
    assert "Choose at least one" in page
    assert "<script>alert" not in page
    assert "&#34;&gt;&lt;script&gt;alert(1)" in page


@pytest.mark.parametrize("name", ["", "x" * 101, "a\u202eb", "a\nb"])
async def test_a_name_can_be_seen(admin, name):
    """One that turns the text around it made the audit log and mails read otherwise than they are."""
    for page, fields in (("/keys", {"scope": ["leads:read"], "life": ""}), ("/bots", {"flow": "lead-qualification"})):
        await admin.open(page)
        assert 'id="name-fault"' in await admin.fill(page, 422, name=name, **fields), page


async def test_the_password_is_asked_for_before_a_secret(admin):
    await admin.open("/keys")
    await db.rows("UPDATE user_session SET confirmed_at = confirmed_at - interval '11 minutes'")
    page = await admin.fill("/keys", name="CRM", scope=["leads:read"], life="")
    assert "Confirm it is you" in page
    assert await db.value("SELECT count(*) FROM api_key") == 0
    await admin.fill("/confirm", 422, password="wrong")
    await admin.fill("/confirm", password="four quiet grey horses", next="/keys")
    assert await made(admin)


async def test_another_workspace_s_key_is_not_there(admin):
    from leadwire.domain.accounts import changes

    key_id, _ = await changes.create_key(await changes.create_workspace("Other"), "theirs")
    await admin.open("/keys")
    await admin.fill(f"/keys/{key_id}/revoke", 404)
