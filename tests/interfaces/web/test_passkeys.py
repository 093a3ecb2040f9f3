"""Passkeys and recovery codes in the web area: what they open, what asks for them, who is told."""

import re

import pytest
from msgspec import structs

from leadwire.domain.accounts.sign_in import tries
from leadwire.domain.accounts.sign_in.changes import second_factor
from leadwire.domain.workspaces import changes as workspaces
from leadwire.infrastructure import db, settings
from tests.domain.accounts.sign_in.device import Device
from tests.interfaces.web.conftest import PASSWORD
from tests.interfaces.web.test_second_factor import code_of, offered
from tests.mailing import mails
from tests.waiting import eventually

ADA, GRACE = "ada@example.org", "grace@example.org"


async def made(browser, name="Laptop"):
    """A device whose passkey the person has added."""
    device = Device("http://test")
    await browser.open("/account/passkeys")
    options = (await browser.get("/account/passkeys/options")).text
    page = await browser.fill("/account/passkeys", name=name, made=device.make(options))
    assert "The passkey is added" in page
    return device


async def answer(browser, device):
    return device.answer((await browser.get("/sign-in/passkey")).text)


async def codes(browser):
    page = await browser.fill("/account/recovery-codes", 201)
    return re.findall(r"[a-z2-7]{4}(?:-[a-z2-7]{4}){5}", page)


async def ticket(browser, email=ADA):
    page = await browser.fill("/sign-in", email=email, password=PASSWORD)
    return re.search(r'name="ticket" value="([^"]+)"', page)[1]


@pytest.fixture
async def device(admin):
    return await made(admin)


@pytest.fixture
def mailing(smtp, set_mail):
    return set_mail(f"smtp://127.0.0.1:{smtp.port}?tls=none", public_url="http://test")


async def test_the_challenge_stays_in_its_browser(stranger):
    asked = await stranger.get("/sign-in/passkey")
    assert asked.headers["content-type"] == "application/json"
    cookie = asked.headers["set-cookie"].lower()
    assert cookie.startswith("leadwire-passkey=")
    assert ("httponly" in cookie, "samesite=strict" in cookie, "max-age=300" in cookie) == (True, True, True)
    assert (
        (await stranger.get("https://test/sign-in/passkey"))
        .headers["set-cookie"]
        .startswith("__Host-leadwire-passkey=")
    )


async def test_a_host_that_is_none_is_no_fault_of_ours(stranger):
    for host in ("[", "[::1", "a]b"):
        assert (await stranger.get("/sign-in/passkey", headers={"Host": host})).status_code == 200


async def test_it_opens_the_account_without_the_password(stranger, device):
    page = await stranger.fill("/sign-in/passkey", passkey=await answer(stranger, device), next="/leads")
    assert "<title>Leads" in page


async def test_the_password_alone_does_not_any_more(stranger, device):
    given = await ticket(stranger)
    assert not stranger.cookies.get("leadwire")
    page = await stranger.fill("/sign-in/passkey", ticket=given, passkey=await answer(stranger, device), next="/leads")
    assert "<title>Leads" in page


async def test_after_the_password_another_account_s_is_refused(stranger, device, agent):
    theirs = await made(agent)
    given = await ticket(stranger)
    page = await stranger.fill("/sign-in/passkey", 422, ticket=given, passkey=await answer(stranger, theirs))
    assert "This passkey is another account&#39;s." in page
    assert "Enter your code" in page
    assert not stranger.cookies.get("leadwire")
    page = await stranger.fill("/sign-in/passkey", 422, ticket="00", passkey=await answer(stranger, device))
    assert "Begin again with your password" in page


async def test_it_confirms_and_another_account_s_does_not(admin, device, agent):
    theirs = await made(agent)
    await admin.open("/team")
    await db.rows("UPDATE user_session SET confirmed_at = confirmed_at - interval '11 minutes'")
    invited = {"email": "new@example.net", "role": "agent"}
    assert "Confirm it is you" in await admin.fill("/team", **invited)
    page = await admin.fill("/team", 422, **invited, passkey=await answer(admin, theirs))
    assert "another account" in page
    assert "A link for new@example.net" in await admin.fill(
        "/team", 201, **invited, passkey=await answer(admin, device)
    )


async def test_where_single_sign_on_is_enforced_it_opens_nothing(stranger, device):
    await db.rows("UPDATE workspace SET sso_enforced = true")
    page = await stranger.post("/sign-in/passkey", data={"passkey": await answer(stranger, device)})
    assert (page.status_code // 100, "single sign-on" in page.text) == (4, True)
    assert not stranger.cookies.get("leadwire")


async def test_a_suspended_workspace_lets_nobody_in(stranger, device, workspace):
    await workspaces.suspend(workspace)
    page = await stranger.fill("/sign-in/passkey", 403, passkey=await answer(stranger, device))
    assert "The workspace is suspended." in page


@pytest.mark.parametrize("required", ["admins", "everybody"])
async def test_it_is_the_second_factor_that_is_required(admin, monkeypatch, required):
    asked = structs.replace(settings.get(), second_factor=required)
    monkeypatch.setattr(settings, "get", lambda: asked)
    assert 'href="/account/passkeys"' in await admin.open("/leads")
    await made(admin)
    assert "<title>Leads" in await admin.open("/leads")


async def test_an_admin_takes_everything_off_for_who_has_lost_it(admin, agent, stranger):
    await made(agent)
    assert len(await codes(agent)) == 10
    await admin.open("/team")
    grace = await db.value("SELECT id FROM user_account WHERE email = $1", GRACE)
    assert "signs in by password alone" in await admin.fill(f"/team/{grace}/second-factor/remove")
    assert await db.value("SELECT (SELECT count(*) FROM passkey) + (SELECT count(*) FROM recovery_code)") == 0
    assert "<title>Inbox" in await stranger.fill("/sign-in", email=GRACE, password=PASSWORD)


async def test_its_owner_removes_it_and_nobody_else(admin, agent, device):
    passkey = await db.value("SELECT id FROM passkey")
    await agent.open("/account")
    await agent.fill(f"/account/passkeys/{passkey}/remove", 404)
    await admin.open("/account")
    assert "The passkey is removed" in await admin.fill(f"/account/passkeys/{passkey}/remove")
    done = await db.rows("SELECT action, subject, detail FROM audit_entry WHERE action LIKE 'passkey%' ORDER BY id")
    assert [tuple(row) for row in done] == [
        ("passkey.added", passkey, "Laptop"),
        ("passkey.removed", passkey, "Laptop"),
    ]


async def test_codes_need_a_second_factor_and_new_ones_replace_the_old(admin, stranger):
    await admin.open("/account")
    await admin.fill("/account/recovery-codes", 409)
    await made(admin)
    old = await codes(admin)
    await admin.open("/account")
    new = await codes(admin)
    assert len({*old, *new}) == 20
    await admin.open("/account")
    assert "10 left" in await admin.open("/account")
    given = await ticket(stranger)
    await stranger.fill("/sign-in/code", 422, ticket=given, code=old[0])
    assert "<title>Overview" in await stranger.fill("/sign-in/code", ticket=given, code=new[0].upper())
    assert "9 left" in await stranger.open("/account")


@pytest.mark.parametrize("next_one", ["passkey", "app"])
async def test_codes_go_before_the_first_second_factor_is_set_up_and_stay_beside_another(admin, next_one):
    await second_factor.make_codes(await db.value("SELECT id FROM login"))  # as beside the removal of the last one
    if next_one == "app":
        secret, offer = offered(await admin.open("/account/second-factor"))
        await admin.fill("/account/second-factor", offer=offer, code=code_of(secret))
    else:
        await made(admin)
    assert await db.value("SELECT count(*) FROM recovery_code") == 0
    await admin.open("/account")
    await codes(admin)
    await made(admin, "Phone")
    assert await db.value("SELECT count(*) FROM recovery_code") == 10


async def test_codes_may_be_guessed_five_times_and_are_one_account_s(admin, agent, stranger, device):
    await made(agent)
    await agent.open("/account")
    theirs = await codes(agent)
    await admin.open("/account")
    mine = await codes(admin)
    given = await ticket(stranger)
    for code in theirs[:5]:
        await stranger.fill("/sign-in/code", 422, ticket=given, code=code)
    await stranger.fill("/sign-in/code", 429, ticket=given, code=mine[0])
    assert await db.value("SELECT count(*) FROM recovery_code") == 20


async def test_people_are_told_by_mail(admin, stranger, mailing):
    await made(admin)
    await admin.open("/account")
    ten = await codes(admin)
    await stranger.fill("/sign-in/code", ticket=await ticket(stranger), code=ten[0])
    await stranger.open("/account")
    await stranger.fill(f"/account/passkeys/{await db.value('SELECT id FROM passkey')}/remove")
    told = {kind: values for kind in ("passkey_added", "recovery_code_used", "passkey_removed")
            for _, values in await mails(kind)}  # fmt: skip
    assert {kind: values.get("name", values.get("left")) for kind, values in told.items()} == {
        "passkey_added": "Laptop", "recovery_code_used": "9", "passkey_removed": "Laptop",
    }  # fmt: skip


async def test_a_refused_one_is_in_the_audit_log(stranger, device):
    device.origin = "http://evil"
    await stranger.fill("/sign-in/passkey", 422, passkey=await answer(stranger, device))
    await tries.write()  # unless it is being written already
    asked = "SELECT subject, detail FROM audit_entry WHERE action = $1"
    found = await eventually(lambda: db.row(asked, tries.FAILED))
    assert tuple(found) == (ADA, "passkey refused")
