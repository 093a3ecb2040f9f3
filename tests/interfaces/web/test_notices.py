"""Choosing mails under Your account, ending them by a link, and a transcript to a visitor."""

import base64
import re

import pytest

from leadwire.domain.accounts import changes as accounts
from leadwire.domain.accounts.changes import team
from leadwire.domain.notices import reads
from leadwire.infrastructure import db, secret_box
from tests import make
from tests.interfaces.web.conftest import signed_in
from tests.mailing import mails

ONE_CLICK = b"List-Unsubscribe=One-Click"
DEFAULTS = {
    "admin": ["endpoints", "dead_letters", "waiting", "mentions"],
    "agent": ["waiting", "mentions"],
    "viewer": [],
}


@pytest.fixture(autouse=True)
def _mail(set_mail):
    """Mail is sent. The pages are where these browsers are."""
    set_mail("mailbox:", public_url="http://test")


def ticked(page):
    return re.findall(r'name="kind" value="(\w+)" checked', page)


async def chosen(user):
    return await db.value("SELECT kinds FROM notice_choice WHERE user_id = $1", user)


async def user_of(email):
    return await db.value("SELECT id FROM user_account WHERE email = $1", email)


@pytest.mark.parametrize("role", DEFAULTS)
async def test_each_role_begins_with_what_concerns_it(workspace, role):
    async with signed_in(workspace, role, "mary@example.org") as browser:
        page = await browser.open("/account")
    assert ticked(page) == DEFAULTS[role]
    assert ('value="waiting"' in page) == (role != "viewer")


async def test_a_choice_is_kept_and_audited_and_nobody_elses(admin, agent):
    await admin.open("/account")
    boxes = "kind endpoints dead_letters waiting mentions"
    assert f'name="boxes" value="{boxes}"' in await admin.open("/account")
    page = await admin.fill("/account/notices", boxes=boxes, kind=["waiting", "endpoints"])
    assert "Your choice of mails is saved." in page
    assert ticked(page) == ["endpoints", "waiting"]
    assert ticked(await admin.fill("/account/notices", boxes=boxes)) == []
    assert ticked(await agent.open("/account")) == ["waiting", "mentions"]
    told = await db.rows("SELECT actor, detail FROM audit_entry WHERE action = 'user.notices_changed' ORDER BY id")
    assert [tuple(row) for row in told] == [("ada@example.org", "waiting endpoints"), ("ada@example.org", "none")]


async def test_a_kind_for_which_the_page_had_no_box_is_as_it_was(admin):
    await admin.open("/account")
    page = await admin.fill("/account/notices", boxes="kind endpoints waiting", kind="waiting")
    assert ticked(page) == ["dead_letters", "waiting", "mentions"]
    assert ticked(await admin.fill("/account/notices", kind="waiting")) == ["waiting"], "a page that lists no boxes"
    told = await db.rows("SELECT detail FROM audit_entry WHERE action = 'user.notices_changed' ORDER BY id")
    assert [row[0] for row in told] == ["waiting dead_letters mentions", "waiting"]


async def test_a_kind_that_is_none_is_refused(admin):
    await admin.open("/account")
    assert "No such kind of mail: news." in await admin.fill("/account/notices", 422, kind=["news", "waiting"])
    assert await db.value("SELECT count(*) FROM notice_choice") == 0


async def test_where_no_mail_is_sent_none_is_offered(admin, monkeypatch):
    monkeypatch.undo()
    assert "/account/notices" not in await admin.open("/account")


async def test_a_link_in_a_mail_asks_and_its_button_ends_one_kind(admin, stranger, workspace):
    user = await user_of("ada@example.org")
    link = reads.stop_path(workspace, user, "endpoints")
    page = await stranger.open(link)  # as a program does that checks links
    assert "They are about webhook endpoints." in page
    assert await chosen(user) is None
    await admin.open("/account")
    assert "You will get no more mails about webhook endpoints." in await stranger.fill(link)
    assert await chosen(user) == ["dead_letters", "waiting", "mentions"]
    assert ticked(await admin.open("/account")) == ["dead_letters", "waiting", "mentions"]
    detail = await db.value("SELECT detail FROM audit_entry WHERE action = 'user.notices_changed'")
    assert detail == "unsubscribed from endpoints by a link"


@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""])
async def test_one_click_of_a_mail_program_needs_no_session_and_may_come_again(anonymous, admin, workspace, kind):
    user = await user_of("ada@example.org")
    link = reads.stop_path(workspace, user, "dead_letters")
    headers = {"content-type": kind} if kind else {}
    for _ in range(2):
        assert (await anonymous.post(link, content=ONE_CLICK, headers=headers)).status_code == 200
        assert await chosen(user) == ["endpoints", "waiting", "mentions"]


async def test_another_site_cannot_press_it(anonymous, admin, workspace):
    user = await user_of("ada@example.org")
    link = reads.stop_path(workspace, user, "endpoints")
    for headers in ({"sec-fetch-site": "cross-site"}, {"origin": "https://evil.example"}):
        assert (await anonymous.post(link, content=ONE_CLICK, headers=headers)).status_code == 403
    assert await chosen(user) is None


async def test_a_link_that_we_did_not_make_does_nothing(anonymous, admin, workspace):
    user = await user_of("ada@example.org")
    good = reads.stop_path(workspace, user, "endpoints").removeprefix("/unsubscribe/")
    sealed = base64.urlsafe_b64decode(good + "=" * (-len(good) % 4))
    forged = [bytes([*sealed[:at], sealed[at] ^ 1, *sealed[at + 1 :]]) for at in (0, 5, 20, len(sealed) - 1)]
    box = secret_box.get()
    forged += [sealed[:-1], sealed[:18], sealed + b"x", b"", box.seal(f"other {workspace} {user} endpoints")]
    forged += [box.seal(f"unsubscribe {workspace} {user} news"), box.seal("unsubscribe")]
    tokens = [base64.urlsafe_b64encode(one).decode().rstrip("=") for one in forged]
    plain = base64.urlsafe_b64encode(f"unsubscribe {workspace} {user} endpoints".encode()).decode()
    for token in [*filter(None, tokens), plain, user, "%00", "%ff", "é", "x" * 3000]:
        for method in ("GET", "POST"):
            answer = await anonymous.request(method, f"/unsubscribe/{token}", headers={"accept": "text/html"})
            assert answer.status_code == 404, (method, token)
    assert await chosen(user) is None
    assert (await anonymous.post(f"/unsubscribe/{good}", content=ONE_CLICK)).status_code == 200


async def test_a_link_of_another_workspace_or_of_somebody_who_left_tells_and_does_nothing(
    anonymous, admin, agent, workspace
):
    grace = await user_of("grace@example.org")
    other = await accounts.create_workspace("Other")
    foreign, gone = reads.stop_path(other, grace, "waiting"), reads.stop_path(workspace, grace, "waiting")
    answers = [await anonymous.post(foreign, content=ONE_CLICK)]
    assert await chosen(grace) is None
    await team.remove_user(workspace, grace)
    answers.append(await anonymous.post(gone, content=ONE_CLICK))
    assert [one.status_code for one in answers] == [200, 200]
    assert await db.value("SELECT count(*) FROM notice_choice") == 0


async def test_an_agent_mails_a_transcript_to_the_lead_of_the_conversation(agent, workspace, bot):
    lead = await make.lead(workspace, bot)
    page = await agent.open(f"/inbox?c={lead.conversation_id}")
    assert f"/inbox/{lead.conversation_id}/transcript" in page
    assert "The transcript is on its way." in await agent.fill(f"/inbox/{lead.conversation_id}/transcript")
    ((to, values),) = await mails("transcript")
    assert to == "ada@example.com"
    assert "<b>You:</b> Hello" in await agent.open(values["path"])
    assert await db.value("SELECT about FROM mail WHERE kind = 'transcript'") == lead.conversation_id
    assert await db.value("SELECT count(*) FROM audit_entry WHERE action = 'conversation.transcript_sent'") == 1
    for status in (200, 200, 409):
        page = await agent.fill(f"/inbox/{lead.conversation_id}/transcript", status)
    assert "It was sent several times today." in page
    assert len(await mails("transcript")) == 3


async def test_without_an_address_or_mail_there_is_no_transcript(agent, workspace, bot, monkeypatch):
    conversation = await make.conversation(workspace, bot)
    assert "/transcript" not in await agent.open(f"/inbox?c={conversation}")
    await agent.fill(f"/inbox/{conversation}/transcript", 409)
    phone = await make.lead(workspace, bot, email=None, phone="+493012345678")
    await agent.fill(f"/inbox/{phone.conversation_id}/transcript", 409)
    lead = await make.lead(workspace, bot)
    monkeypatch.undo()
    assert "/transcript" not in await agent.open(f"/inbox?c={lead.conversation_id}")
    assert await mails("transcript") == []
