"""Mail in the web area: a forgotten password, news about accounts, refused addresses, the mailbox."""

import asyncio
import re
from types import SimpleNamespace

import httpx
import pytest

from leadwire.domain.accounts.changes import team
from leadwire.domain.accounts.sign_in import tries
from leadwire.domain.accounts.sign_in.changes import password_reset, second_factor, sessions
from leadwire.domain.mail import changes as mail_changes
from leadwire.domain.workspaces import changes as workspaces
from leadwire.infrastructure import db
from leadwire_development.mailbox import path as mailbox_path
from tests import asgi, jobs
from tests.interfaces.web.conftest import PASSWORD, browser
from tests.mailing import mails

ADA = "ada@example.org"
ANOTHER = "nine slow green trains"


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(password_reset, "_TAKES", 0.0)


@pytest.fixture
def mailing(smtp, set_mail):
    return set_mail(f"smtp://127.0.0.1:{smtp.port}?tls=none", public_url="http://test")


@pytest.fixture
def mailbox(set_mail):
    return set_mail("mailbox:", public_url="", mail_from="")


async def only(kind):
    ((recipient, values),) = await mails(kind)
    return recipient, values


async def link_to(stranger, email=ADA):
    await stranger.fill("/forgot-password", email=email)
    return (await mails("password_reset"))[-1][1]["path"]


async def test_a_forgotten_password_is_replaced_by_a_link_that_works_once(admin, stranger, mailing):
    assert "/forgot-password" in await stranger.open("/sign-in")
    await stranger.open("/forgot-password")
    path = await link_to(stranger, " ADA@example.org ")
    assert (await only("password_reset"))[0] == ADA
    assert ADA in await stranger.open(path)
    await stranger.fill(path, 422, password="short")
    assert "Sign in with it" in await stranger.fill(path, password=ANOTHER)
    assert (await admin.get("/leads")).headers["Location"].startswith("/sign-in")  # every session has ended
    await stranger.fill("/sign-in", 422, email=ADA, password=PASSWORD)
    await stranger.fill("/sign-in", email=ADA, password=ANOTHER)
    assert (await only("password_changed"))[0] == ADA
    async with browser() as other:
        await other.fill(path, 404, password=PASSWORD)
        assert "used" in await other.open(path, 404)
    done = [row["action"] for row in await db.rows("SELECT action FROM audit_entry ORDER BY id")]
    assert ("user.password_reset_requested" in done, "user.password_reset" in done) == (True, True)


async def test_who_has_used_a_link_is_not_held_up_by_strangers(admin, stranger, mailing, monkeypatch):
    path = await link_to(stranger)
    await stranger.fill(path, password=ANOTHER)
    monkeypatch.setattr(tries._LIMITS["account"], "_burst", 0.0)
    await stranger.fill("/sign-in", email=ADA, password=ANOTHER)
    async with browser() as other:
        await other.fill("/sign-in", 429, email=ADA, password=ANOTHER)


async def test_a_second_factor_stays(admin, stranger, mailing):
    await db.rows("UPDATE user_account SET totp_secret = 'sealed', totp_step = 1")
    await stranger.fill(await link_to(stranger), password=ANOTHER)
    assert "Enter your code" in await stranger.fill("/sign-in", email=ADA, password=ANOTHER)
    assert await db.value("SELECT totp_secret IS NOT NULL FROM user_account")


async def test_the_answer_is_alike_for_an_address_that_nobody_has(admin, stranger, mailing, monkeypatch):
    monkeypatch.setattr(password_reset, "_TAKES", 60.0)
    slept = []

    async def sleep(seconds):
        slept.append(seconds)

    timed = SimpleNamespace(sleep=sleep, get_running_loop=asyncio.get_running_loop)
    monkeypatch.setattr(password_reset, "asyncio", timed)
    pages = [await stranger.fill("/forgot-password", email=email) for email in (ADA, "nobody@example.org")]
    assert pages[0].replace(ADA, "nobody@example.org") == pages[1]
    assert [0 < seconds <= 60 for seconds in slept] == [True, True]  # each until the same time has passed


async def test_who_does_not_exist_gets_no_mail(admin, stranger, mailing):
    for email in ("nobody@example.org", "", "ada@example.org\r\nBcc: eve@example.org", "x" * 300):
        await stranger.fill("/forgot-password", email=email)
    assert await mails() == []


async def test_three_mails_an_hour(admin, stranger, mailing):
    for email in (ADA, "nobody@example.org"):
        for _ in range(3):
            await stranger.fill("/forgot-password", email=email)
        await stranger.fill("/forgot-password", 429, email=email)
    assert len(await mails("password_reset")) == 3


async def test_only_the_last_link_works_and_only_for_an_hour(admin, stranger, mailing):
    first, last = await link_to(stranger), await link_to(stranger)
    await stranger.open(first, 404)
    await stranger.open(last)
    await db.rows("UPDATE password_reset SET expires_at = expires_at - interval '1 hour'")
    await stranger.open(last, 404)
    await stranger.fill(last, 404, password=ANOTHER)
    await jobs.run("password_reset.delete")
    assert await db.value("SELECT count(*) FROM password_reset") == 0


async def test_a_changed_password_ends_the_link(admin, stranger, mailing):
    path = await link_to(stranger)
    await admin.open("/account")
    await admin.fill("/account/password", present=PASSWORD, password=ANOTHER)
    await stranger.fill(path, 404, password="a thief's own words")


async def test_two_who_use_a_link_at_once_set_one_password(admin, stranger, mailing):
    path = await link_to(stranger)
    async with browser() as other:
        answers = await asyncio.gather(
            *(one.post(path, data={"password": f"{n} {ANOTHER}"}) for n, one in enumerate((stranger, other)))
        )
    assert sorted(answer.status_code for answer in answers) == [200, 404]


async def test_a_suspended_workspace_s_people_wait(admin, stranger, mailing, workspace):
    path = await link_to(stranger)
    await workspaces.suspend(workspace)
    await stranger.open(path, 403)
    await stranger.fill(path, 403, password=ANOTHER)
    await stranger.fill("/forgot-password", email=ADA)
    assert len(await mails("password_reset")) == 1


async def test_another_site_cannot_ask(admin, stranger, mailing):
    away = {"sec-fetch-site": "cross-site"}
    path = await link_to(stranger)
    for where, form in (("/forgot-password", {"email": ADA}), (path, {"password": ANOTHER})):
        assert (await stranger.post(where, data=form, headers=away)).status_code == 403
    assert len(await mails("password_reset")) == 1


async def test_without_mail_nothing_offers_it(admin, stranger):
    assert "/forgot-password" not in await stranger.open("/sign-in")
    await stranger.open("/forgot-password", 404)
    await stranger.fill("/forgot-password", 404, email=ADA)
    assert "shown to you once, as no mail is sent" in await admin.open("/team")
    assert "in a way that you trust" in await admin.fill("/team", 201, email="new@example.org", role="agent")
    assert await db.value("SELECT count(*) FROM mail") == 0


async def test_an_invitation_is_mailed_and_not_shown_to_who_sends_it(admin, mailing):
    assert "Send invitation</button>" in await admin.open("/team")
    page = await admin.fill("/team", 201, email="New@example.org", role="agent")
    assert "on its way" in page
    recipient, values = await only("invitation")
    assert recipient == "new@example.org"
    assert (values["path"].startswith("/join/"), "/join/" in page) == (True, False)
    assert (values["by"], values["workspace"], values["role"]) == (ADA, "Test", "agent")


async def test_five_invitations_an_hour_to_one_address(admin, workspace, mailing):
    await admin.open("/team")
    for _ in range(5):
        await admin.fill("/team", 201, email="new@example.org", role="agent")
        await admin.open("/team")
    assert "Wait an hour" in await admin.fill("/team", 429, email="New@example.org", role="agent")
    await admin.fill("/team", 201, email="other@example.org", role="agent")
    assert len(await mails("invitation")) == 6


async def test_a_browser_that_was_not_seen_before_is_told_of(admin, mailing):
    await admin.fill("/sign-in", email=ADA, password=PASSWORD)  # it joined with it
    assert await mails("new_sign_in") == []
    async with browser() as other:
        other.headers["User-Agent"] = "Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Firefox/130.0"
        for _ in range(2):
            await other.fill("/sign-in", email=ADA, password=PASSWORD)
            await other.open("/account")
            await other.fill("/sign-out")
    recipient, values = await only("new_sign_in")
    assert (recipient, values["agent"]) == (ADA, "Firefox on Linux")


async def test_the_last_twenty_browsers_are_known(admin):
    user, marks = await db.value("SELECT id FROM user_account"), [f"mark {number}" for number in range(25)]
    assert all([await sessions.know_browser(user, mark) for mark in marks])
    assert [await sessions.know_browser(user, mark) for mark in (marks[5], marks[24], marks[4])] == [False, False, True]
    assert await db.value("SELECT cardinality(known_browsers) FROM user_account") == 20


async def test_a_wrong_password_makes_no_browser_known(admin, stranger, mailing):
    await stranger.fill("/sign-in", 422, email=ADA, password="not the password")
    assert await db.value("SELECT cardinality(known_browsers) FROM user_account") == 1


async def test_changes_of_what_opens_an_account_are_told(admin, mailing, workspace):
    await admin.open("/account")
    await admin.fill("/account/password", present=PASSWORD, password=ANOTHER)
    user, sealed = await db.row("SELECT id, 'sealed'::bytea FROM user_account")
    await db.rows("UPDATE user_account SET totp_secret = $1, totp_step = 1", sealed)
    await second_factor.remove(workspace, user)
    page = await admin.open("/account/second-factor")
    offer = re.search(r'name="offer" value="(\w+)"', page)[1]
    _, secret = second_factor.tickets.opened("offer", offer)
    code = second_factor._totp(secret).generate(int(second_factor.clock.now().timestamp())).decode()
    await admin.fill("/account/second-factor", offer=offer, code=code)
    kinds = await db.rows("SELECT kind, recipient FROM mail ORDER BY id")
    assert [tuple(row) for row in kinds] == [
        (kind, ADA) for kind in ("password_changed", "second_factor_off", "second_factor_on")
    ]


SPELLINGS = ["anna@xn--bcher-kva.example", "ANNA@BÜCHER.example", "anna@bu\u0308cher.example"]


@pytest.mark.parametrize("typed", SPELLINGS)
async def test_an_address_is_the_same_however_its_domain_is_spelled(workspace, stranger, mailing, typed):
    link = await team.invite(workspace, typed, "agent", "eve@example.org")
    await team.accept(link, "", PASSWORD, sessions.Browser("127.0.0.1"))
    for again in SPELLINGS:
        await stranger.fill("/sign-in", email=again, password=PASSWORD)
        await stranger.fill("/forgot-password", email=again)
    assert [to for to, _ in await mails("password_reset")] == ["anna@bücher.example"] * 3


async def test_an_admin_sees_refused_addresses_and_lifts_that(admin, agent, mailing, workspace):
    said = "550 5.1.1 <b>unknown</b>"
    await mail_changes.suppress(workspace, "gone@example.org", said)
    assert "&lt;b&gt;unknown" in await admin.open("/team")
    page = await admin.fill("/team", 201, email="gone@example.org", role="agent")
    assert ("No mail was sent" in page, "/join/" in page) == (True, False)
    await agent.open("/account")
    await agent.fill("/team/mail/lift", 403, address="gone@example.org")
    await admin.open("/team")
    assert "goes to that address again" in await admin.fill("/team/mail/lift", address="gone@example.org")
    await admin.fill("/team/mail/lift", 404, address="gone@example.org")
    (noted,) = await db.rows("SELECT e::text FROM audit_entry e WHERE action = 'mail.suppression_lifted'")
    assert "gone@" not in noted[0]  # it may be a visitor's, whom an erasure has to reach


async def test_the_mailbox_shows_what_would_have_been_sent(workspace, mailbox):
    token = await team.invite(workspace, "new@example.org", "agent", by="<i>eve</i>@example.org")
    async with httpx.AsyncClient(transport=asgi.transport(), base_url="http://localhost:8000") as here:
        page = (await here.get(mailbox_path())).text
        path = re.search(rf'href="({mailbox_path()}/mail_\w+)"', page)[1]
        shown = (await here.get(path)).text
        assert f'<a href="http://localhost:8000/join/{token}"' in shown
        assert f'href="{mailbox_path()}"' in shown
        answer = await here.get(f"{path}/html")
        assert answer.headers["content-security-policy"].startswith("sandbox allow-popups")
        assert "script" not in answer.headers["content-security-policy"]
        assert "&lt;i&gt;eve&lt;/i&gt;" in answer.text
        assert (await here.get(f"{mailbox_path()}/mail_nothing")).status_code == 404
        assert (await here.get(f"{mailbox_path()}/%00")).status_code == 404


@pytest.mark.parametrize("secret", ["", "/", "/mail", "/%00", "/" + "0" * 32])
async def test_the_mailbox_is_for_who_knows_its_address(workspace, mailbox, secret):
    await team.invite(workspace, "new@example.org", "agent")
    mail_id = await db.value("SELECT id FROM mail")
    async with httpx.AsyncClient(transport=asgi.transport(), base_url="http://localhost") as other:
        for path in ("", f"/{mail_id}", f"/{mail_id}/html"):
            assert (await other.get(f"/dev/mail{secret}{path}")).status_code == 404


async def test_the_mailbox_is_nowhere_else(database, mailing):
    async with httpx.AsyncClient(transport=asgi.transport(), base_url="http://localhost") as here:
        assert (await here.get(mailbox_path())).status_code == 404
