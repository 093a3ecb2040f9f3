"""`leadwire users`: who sees all workspaces is said on the command line, and `doctor` tells of it."""

import asyncio
import json
import subprocess
import sys

from leadwire.domain.accounts import changes as accounts
from leadwire.domain.accounts.changes import team
from leadwire.domain.bots import changes as bots
from leadwire.domain.conversations.changes import end_and_snooze
from leadwire.infrastructure import clock, db
from tests import make
from tests.flows.commands import environment, refused
from tests.interfaces.cli.conftest import examined
from tests.interfaces.web.conftest import PASSWORD, browser, signed_in

ADA = "ada@example.org"


async def noted_in(action):
    entries = await db.rows("SELECT workspace_id, subject FROM audit_entry WHERE action = $1", action)
    return {tuple(row) for row in entries}


async def test_an_operator_is_made_listed_and_none_any_more(command, workspace):
    async with signed_in(workspace, "admin", ADA) as ada, signed_in(workspace, "agent", "bo@example.org"):
        assert (await ada.get("/system")).status_code == 403
        made = await command("users", "operator", "ADA@example.org", "--json")
        assert json.loads(made.stdout) == {"email": ADA, "operator": True}
        assert (await ada.get("/system")).status_code == 200
        listed = json.loads((await command("users", "list", "--json")).stdout)
        assert {one["email"]: one["operator"] for one in listed} == {ADA: True, "bo@example.org": False}
        assert "an admin" in refused(await command("users", "operator", "bo@example.org"))
        assert (await command("users", "operator", ADA, "--revoke")).returncode == 0
        assert (await ada.get("/system")).status_code == 403
    actions = await db.rows("SELECT action, subject FROM audit_entry WHERE action LIKE '%operator%' ORDER BY id")
    assert [tuple(row) for row in actions] == [("user.operator_made", ADA), ("user.operator_revoked", ADA)]


async def test_an_invitation_of_an_operator(command, workspace):
    path = json.loads((await command("users", "invite", "--operator", "--json")).stdout)["link"]
    async with browser() as stranger:
        await stranger.fill(path, email=ADA, password=PASSWORD)
        assert (await stranger.get("/system")).status_code == 200


async def test_who_is_in_several_workspaces_is_named_with_one(command, workspace):
    other = await accounts.create_workspace("Other")
    async with signed_in(workspace, "agent", ADA), signed_in(other, "agent", ADA):
        assert "say which with --workspace" in refused(await command("users", "remove", ADA))
        assert (await command("users", "remove", ADA, "--workspace", other)).returncode == 0
    assert await db.value("SELECT workspace_id FROM user_account") == workspace


async def test_what_somebody_had_who_is_removed_waits_for_anybody(access, workspace):
    """In a process of its own: a fork has imported what this command has to import by itself."""
    command = [sys.executable, "-m", "leadwire", "users", "remove", "bo@example.org"]
    talk = await make.conversation(workspace, await bots.create(workspace, "Bot"))
    async with signed_in(workspace, "admin", ADA), signed_in(workspace, "agent", "bo@example.org"):
        bo = await db.value("SELECT id FROM user_account WHERE email_address = 'bo@example.org'")
        await end_and_snooze.snooze(workspace, talk, bo, clock.ago(days=-7))
        await asyncio.to_thread(subprocess.run, command, env=environment(**access), check=True)
    assert tuple(await db.row("SELECT assigned_to, assigned_at, snoozed_until FROM conversation")) == (None, None, None)


async def test_who_is_signed_out_is_so_in_every_workspace_and_nobody_else(command, workspace):
    other = await accounts.create_workspace("Other")
    link = f"/join/{await team.invite(other, ADA, 'agent')}"
    async with (
        signed_in(workspace, "agent", ADA) as ada,
        signed_in(workspace, "agent", "bo@example.org") as bo,
        browser() as elsewhere,
    ):
        await elsewhere.fill("/sign-in", join=link.removeprefix("/join/"), email=ADA, password=PASSWORD)
        ended = json.loads((await command("users", "sign-out", ADA, "--workspace", workspace, "--json")).stdout)
        assert ended == {"email": ADA, "ended": 2}
        assert [(await one.get("/account")).status_code for one in (ada, elsewhere, bo)] == [303, 303, 200]
        await elsewhere.fill("/sign-in", email=ADA, password=PASSWORD)
        assert (await elsewhere.get("/account")).status_code == 200
    assert await noted_in("user.signed_out") == {(workspace, ADA), (other, ADA)}


async def test_a_reset_of_the_second_factor_is_noted_wherever_the_login_opens(command, workspace):
    other = await accounts.create_workspace("Other")
    link = f"/join/{await team.invite(other, ADA, 'agent')}"
    async with signed_in(workspace, "agent", ADA), browser() as elsewhere:
        await elsewhere.fill("/sign-in", join=link.removeprefix("/join/"), email=ADA, password=PASSWORD)
    await db.rows("UPDATE login SET totp_secret = 'sealed', totp_step = 1")
    assert (await command("users", "reset-second-factor", ADA, "--workspace", other)).returncode == 0
    assert await noted_in("user.second_factor_removed") == {(workspace, ADA), (other, ADA)}


def operators(sound, *named):
    found = examined(**sound, **({"OPERATORS": ",".join(named)} if named else {}))[1]["operators"]
    return found["level"], found["says"]


async def test_doctor_tells_who_is_named_and_is_none(sound, workspace):
    assert operators(sound) == ("ok", "there is no account yet")
    async with signed_in(workspace, "admin", ADA), signed_in(workspace, "admin", "bo@example.org"):
        pass
    assert operators(sound) == ("warning", "nobody is one")
    people = {row["email"]: row["id"] for row in await db.rows("SELECT email, id FROM user_account")}
    await team.set_operator(workspace, people[ADA], operator=True)
    assert operators(sound) == ("ok", ADA)
    assert operators(sound, ADA) == ("ok", ADA)
    assert operators(sound, ADA, "bo@example.org", "eve@example.org") == (
        "warning",
        "bo@example.org was not made one; eve@example.org has no account",
    )
    assert "shown to who invites" in examined(**sound)[1]["mail server"]["says"]


async def test_doctor_knows_an_operator_who_is_also_elsewhere(sound, workspace):
    other = await accounts.create_workspace("Other")
    async with signed_in(workspace, "admin", ADA), signed_in(other, "agent", ADA):
        pass
    ada = await db.value("SELECT id FROM user_account WHERE workspace_id = $1", workspace)
    await team.set_operator(workspace, ada, operator=True)
    assert operators(sound, ADA) == ("ok", ADA)
