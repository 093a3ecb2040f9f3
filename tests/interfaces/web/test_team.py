"""The team on the screen: links, roles, and the end of an account."""

import asyncio
import re
from functools import partial

import pytest

from leadwire.domain.accounts import changes as accounts
from leadwire.domain.accounts.changes import team
from leadwire.domain.accounts.sign_in.changes import sessions
from leadwire.domain.accounts.sign_in.changes.sessions import Browser
from leadwire.infrastructure import db, ids
from leadwire.infrastructure.errors import Conflict, Forbidden
from tests import make
from tests.delivery.interleaved import apart, overlapped
from tests.interfaces.web.conftest import PASSWORD, browser, signed_in


async def user_id(email: str) -> str:
    return await db.value("SELECT id FROM user_account WHERE email = $1", email)


async def role_of(email: str) -> str:
    return await db.value("SELECT role FROM user_account WHERE email = $1", email)


async def test_a_link_is_shown_once_and_makes_an_account(admin, stranger):
    await admin.open("/team")
    page = await admin.fill("/team", 201, email="New@Example.org", role="agent")
    link = re.search(r"http://test(/join/[\w-]+)", page)[1]
    listed = await admin.open("/team")
    assert "new@example.org" in listed
    assert link not in listed
    await stranger.fill(link, password=PASSWORD, email="new@example.org")
    assert await role_of("new@example.org") == "agent"
    assert "Open invitations" not in await admin.open("/team")
    noted = await db.row(
        "SELECT actor, subject, detail FROM audit_entry WHERE action = 'user.invited' AND detail = 'agent'"
    )
    assert tuple(noted) == ("ada@example.org", "new@example.org", "agent")


async def test_the_password_is_asked_for_before_a_link_is_shown(admin):
    await admin.open("/team")
    await db.rows("UPDATE user_session SET confirmed_at = confirmed_at - interval '11 minutes'")
    assert "Confirm it is you" in await admin.fill("/team", email="new@example.org", role="agent")
    assert await db.value("SELECT count(*) FROM invitation") == 0


@pytest.mark.parametrize("wrong", [{"email": "no address"}, {"email": ""}, {"role": "owner"}, {"role": ""}])
async def test_what_makes_no_link(admin, wrong):
    await admin.open("/team")
    await admin.fill("/team", 422, **{"email": "new@example.org", "role": "agent", **wrong})
    assert await db.value("SELECT count(*) FROM invitation") == 0


async def test_somebody_known_needs_no_link(admin, agent):
    await admin.open("/team")
    assert "has an account already" in await admin.fill("/team", 409, email="grace@example.org", role="admin")


async def test_an_account_elsewhere_is_not_told(admin, stranger):
    elsewhere = await accounts.create_workspace("Other")
    async with signed_in(elsewhere, "agent", "eve@example.org"):
        await admin.open("/team")
        pages = [await admin.fill("/team", 201, email=f"{name}@example.org", role="agent") for name in ("eve", "new")]
        link = re.search(r"http://test(/join/[\w-]+)", pages[0])[1]
        await stranger.fill(link, password=PASSWORD, email="eve@example.org")
    shown = [re.sub(r"/join/[\w-]+", "", page) for page in pages]
    assert shown[0].replace("eve@", "new@") == shown[1]


async def test_a_link_asks_about_five_addresses_in_five_minutes(workspace, stranger):
    token = await team.invite(workspace, None, "agent")
    for _ in range(5):
        await stranger.fill(f"/join/{token}", 422, password="short", email="eve@example.org")
    await stranger.fill(f"/join/{token}", 429, password=PASSWORD, email="eve@example.org")


async def test_a_refusal_names_nobody_by_their_id(admin):
    gone = ids.new("user")
    await admin.open("/team")
    for path, form in ((f"/team/{gone}/role", {"role": "admin"}), (f"/team/{gone}/remove", {})):
        page = await admin.fill(path, 404, **form)
        assert "There is no such person in the team." in page
        assert gone not in page


async def test_a_withdrawn_link_leads_nowhere(admin, stranger, workspace):
    token = await team.invite(workspace, "new@example.org", "agent")
    await admin.open("/team")
    invitation = await db.value("SELECT id FROM invitation")
    assert "The link is withdrawn." in await admin.fill(f"/team/links/{invitation}/withdraw")
    await stranger.open(f"/join/{token}", 404)
    await admin.fill(f"/team/links/{invitation}/withdraw", 404)


async def test_another_role_counts_from_the_next_click_on(admin, agent):
    await agent.open("/leads")
    assert (await agent.get("/keys")).status_code == 403
    await admin.open("/team")
    await admin.fill(f"/team/{await user_id('grace@example.org')}/role", role="admin")
    assert (await agent.get("/keys")).status_code == 200
    await admin.fill(f"/team/{await user_id('grace@example.org')}/role", role="viewer")
    assert (await agent.get("/keys")).status_code == 403
    detail = await db.value("SELECT detail FROM audit_entry WHERE action = 'user.role_changed' ORDER BY id LIMIT 1")
    assert detail == "role: agent -> admin"


async def test_who_is_removed_is_out_at_once(admin, agent):
    await agent.open("/leads")
    await admin.open("/team")
    await admin.fill(f"/team/{await user_id('grace@example.org')}/remove")
    assert (await agent.get("/leads")).headers["Location"].startswith("/sign-in")
    await agent.fill("/sign-in", 422, email="grace@example.org", password=PASSWORD)


async def test_the_last_admin_stays_one(admin):
    me = await user_id("ada@example.org")
    await admin.open("/team")
    assert "The last admin stays one" in await admin.fill(f"/team/{me}/role", 409, role="viewer")
    assert "The last admin stays one" in await admin.fill(f"/team/{me}/remove", 409)
    await admin.fill(f"/team/{me}/role", role="admin")
    assert await role_of("ada@example.org") == "admin"


async def test_two_admins_who_demote_each_other_leave_one(admin, workspace):
    async with signed_in(workspace, "admin", "bo@example.org") as other:
        await asyncio.gather(admin.open("/team"), other.open("/team"))
        mine, theirs = await user_id("ada@example.org"), await user_id("bo@example.org")
        await asyncio.gather(
            *(
                one.post(f"/team/{whom}/role", data={"form_token": one.token, "role": "viewer"})
                for one, whom in ((admin, theirs), (other, mine))
            )
        )
    assert await db.value("SELECT count(*) FROM user_account WHERE role = 'admin'") == 1


async def test_what_cannot_be_done_just_now_is_told_where_it_was_asked_for(admin, agent):
    grace = await user_id("grace@example.org")
    await admin.open("/team")
    async with db.transaction():
        await db.rows("SELECT 1 FROM user_account WHERE id = $1 FOR UPDATE", grace)
        page = await apart(admin.fill(f"/team/{grace}/remove", 503))
    assert "They are changing something themselves. Try again." in page
    assert f"/team/{grace}/remove" in page


async def test_who_has_just_been_removed_removes_nobody(workspace):
    ada, bo, _ = [await make.user(workspace, "admin") for _ in range(3)]

    async def back():
        with pytest.raises(Forbidden):
            await team.remove_user(workspace, ada, by=bo)

    await overlapped(lambda: team.remove_user(workspace, bo, by=ada), back)
    assert await db.value("SELECT count(*) FROM user_account WHERE id = $1", ada) == 1


async def test_who_was_no_admin_for_a_while_is_no_operator(workspace):
    ada, _ = [await make.user(workspace, "admin") for _ in range(2)]
    await team.set_operator(workspace, ada, operator=True)
    for role in ("agent", "admin"):
        await team.change_role(workspace, ada, role)
    assert await db.value("SELECT operator FROM user_account WHERE id = $1", ada) is False


async def test_what_is_refused_leaves_the_patience_of_the_transaction_as_it_was(workspace):
    """A sign-in by single sign-on goes on after it."""
    ada = await make.user(workspace, "admin")
    async with db.transaction():
        before = await db.value("SHOW lock_timeout")
        with pytest.raises(Conflict, match="last admin"):
            await team.change_role(workspace, ada, "viewer")
        assert await db.value("SHOW lock_timeout") == before


async def test_links_for_whoever_opens_them_are_not_one_another_s(workspace):
    links = [await team.invite(workspace, None, "agent") for _ in range(2)]
    for number, link in enumerate(links):
        await team.accept(link, f"{number}@example.org", PASSWORD, sessions.Browser("127.0.0.1"))
    assert await db.value("SELECT count(*) FROM user_account") == 2


async def test_another_workspace_s_people_are_not_there(admin):
    elsewhere = await accounts.create_workspace("Other")
    async with signed_in(elsewhere, "agent", "eve@example.org"):
        theirs, token = (
            await user_id("eve@example.org"),
            await team.invite(elsewhere, "mal@example.org", "admin"),
        )
        page = await admin.open("/team")
        assert "eve@example.org" not in page
        assert "mal@example.org" not in page
        await admin.fill(f"/team/{theirs}/role", 404, role="admin")
        await admin.fill(f"/team/{theirs}/remove", 404)
        await admin.fill(f"/team/links/{await db.value('SELECT id FROM invitation')}/withdraw", 404)
    assert await role_of("eve@example.org") == "agent"
    async with browser() as them:
        await them.open(f"/join/{token}")


async def test_of_two_links_to_one_address_that_are_made_at_once_one_is_left(workspace):
    invite = partial(team.invite, workspace, "new@example.org", "agent")
    await overlapped(invite, invite)
    assert await db.value("SELECT count(*) FROM invitation") == 1


async def test_no_link_is_left_to_somebody_who_joins_while_it_is_made(workspace):
    token = await team.invite(workspace, "new@example.org", "agent")

    async def late():
        with pytest.raises(Conflict, match="has an account already"):
            await team.invite(workspace, "new@example.org", "admin")

    await overlapped(lambda: team.accept(token, "", PASSWORD, Browser("127.0.0.1")), late)
    assert await db.value("SELECT count(*) FROM invitation") == 0
