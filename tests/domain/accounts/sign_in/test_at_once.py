"""A password is replaced while somebody who knows the one before is at work: nothing of theirs outlasts it."""

from functools import partial

import pytest

from leadwire.domain.accounts.sign_in import changes as sign_in
from leadwire.domain.accounts.sign_in import passwords
from leadwire.domain.accounts.sign_in.changes import sessions
from leadwire.infrastructure import db
from leadwire.infrastructure.errors import Conflict, DomainError, Invalid
from tests.delivery.interleaved import Held, apart, ended_or_blocked, overlapped
from tests.interleavings.accounts import OPERATIONS, PASSWORD, People


@pytest.fixture
async def people(database, set_mail):
    set_mail("mailbox:")
    made = People()
    await made.make()
    return made


async def ways_in(people):
    """The sessions, passkeys and apps of the person, and whether the password is that of the link."""
    counted = """SELECT (SELECT count(*) FROM user_session WHERE user_id = l.id),
        (SELECT count(*) FROM passkey WHERE user_id = l.id), totp_secret, password_hash FROM login l WHERE id = $1"""
    sessions, keys, app, stored = await db.row(counted, people.ada)
    return sessions, keys, app, await passwords.matches(stored, f"{PASSWORD} again")


@pytest.mark.parametrize("change", ["change_password", "add_passkey", "add_app"])
async def test_a_change_by_a_session_that_has_ended_is_refused(people, change):
    async def late():
        with pytest.raises(DomainError, match="just been signed out"):
            await OPERATIONS[change](people)

    await overlapped(lambda: OPERATIONS["reset_password"](people), late)
    assert await ways_in(people) == (0, 1, None, True)


@pytest.mark.parametrize("end", ["by their owner", "by an operator"])
async def test_a_session_that_goes_on_in_another_workspace_ends_with_the_others(people, end):
    async def ended():
        if end == "by their owner":
            await OPERATIONS["reset_password"](people)
        else:
            await people.form(people.admin, sessions.end_of(people.ada))

    await OPERATIONS["join_another_workspace"](people)
    there = await db.value("SELECT id FROM user_account WHERE login_id = $1 AND id <> $1", people.ada)
    await overlapped(partial(sessions.switch, people.person, there), ended)
    assert await db.value("SELECT count(*) FROM user_session WHERE user_id = ANY($1)", [people.ada, there]) == 0


async def test_a_code_that_was_right_opens_no_session_behind_another_password(people, monkeypatch):
    held = Held(sign_in._ACCOUNTS)
    monkeypatch.setattr(sign_in, "_ACCOUNTS", held)
    code = apart(OPERATIONS["give_recovery_code"](people))
    await held.reached.wait()
    reset = apart(OPERATIONS["reset_password"](people))
    await ended_or_blocked(reset)
    held.go.set()
    await code
    await reset
    assert await ways_in(people) == (0, 1, None, True)


async def test_a_session_that_a_passkey_opens_while_it_is_removed_ends_with_the_others(people, monkeypatch):
    async def ended():
        await OPERATIONS["remove_passkey"](people)
        await OPERATIONS["sign_out_everywhere"](people)

    held = Held(sign_in._ACCOUNTS)
    monkeypatch.setattr(sign_in, "_ACCOUNTS", held)
    opened = apart(OPERATIONS["sign_in_by_passkey"](people))
    await held.reached.wait()
    removed = apart(ended())
    await ended_or_blocked(removed)
    held.go.set()
    await opened
    await removed
    assert (await ways_in(people))[:2] == (1, 0)


async def test_a_password_that_was_right_opens_nothing_behind_a_passkey_that_was_added_meanwhile(people):
    await db.rows("DELETE FROM passkey")

    async def late():
        with pytest.raises(Invalid, match="E-mail or password is not right"):
            await OPERATIONS["sign_in_by_password"](people)

    await overlapped(lambda: OPERATIONS["add_passkey"](people), late)
    assert (await ways_in(people))[:2] == (1, 1)


async def test_a_second_factor_stays_that_has_just_come_to_open_another_workspace(people):
    async def late():
        with pytest.raises(Conflict, match="to another workspace, too"):
            await OPERATIONS["remove_second_factor"](people)

    await overlapped(lambda: OPERATIONS["join_another_workspace"](people), late)
    assert await db.value("SELECT count(*) FROM passkey") == 1
