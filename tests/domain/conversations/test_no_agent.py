"""Who answers visitors no more has no conversation any more: visitors do not wait for somebody who cannot answer."""

from datetime import timedelta
from functools import partial

import pytest

from leadwire.domain.accounts.changes import team
from leadwire.domain.bots import jobs as silence
from leadwire.domain.bots.visitors import runtime
from leadwire.domain.conversations import changes, inbox_reads, pubsub
from leadwire.domain.conversations.changes import end_and_snooze, inbox
from leadwire.domain.conversations.inbox_reads import Wanted
from leadwire.infrastructure import clock, db
from leadwire.infrastructure.errors import Forbidden, Invalid
from tests import make
from tests.delivery.interleaved import overlapped
from tests.domain.bots.conftest import live, operators, visitor  # noqa: F401 - fixtures

HOLDER = "SELECT assigned_to, assigned_at, snoozed_until FROM conversation WHERE id = $1"


@pytest.fixture
async def talk(visitor, operators):  # noqa: F811
    """A conversation that nobody has yet. Ada and Bo are agents."""
    await visitor.says("what?")
    await runtime.hand_off(await visitor.visit())
    return visitor.conversation


async def demote(workspace, user):
    await team.change_role(workspace, user, "viewer")


async def remove(workspace, user):
    await make.user(workspace, "admin")
    await team.remove_user(workspace, user)


@pytest.mark.parametrize("leave", [demote, remove])
async def test_what_they_had_waits_for_anybody(workspace, talk, operators, leave, monkeypatch):  # noqa: F811
    ada, bo = operators
    await inbox.claim(workspace, talk, ada)
    told = []
    monkeypatch.setattr(pubsub, "publish", lambda *about: told.append(about))
    await leave(workspace, ada)
    assert tuple(await db.row(HOLDER, talk)) == (None, None, None)
    found = await inbox_reads.threads(workspace, bo, Wanted())
    assert [one["id"] for one in found.places["waiting"]] == [talk]
    assert told == [(workspace, talk)]  # open pages show it


@pytest.mark.parametrize("leave", [demote, remove])
async def test_what_they_had_snoozed_does_not_end_for_its_silence(workspace, talk, operators, leave):  # noqa: F811
    await end_and_snooze.snooze(workspace, talk, operators[0], clock.now() + timedelta(days=7))
    await db.rows("UPDATE conversation SET updated_at = now() - interval '3 days'")
    await leave(workspace, operators[0])
    assert tuple(await db.row(HOLDER, talk)) == (None, None, None)
    assert await silence.silent() == []


async def test_others_keep_theirs_and_what_has_ended_says_who_had_it(workspace, talk, operators):  # noqa: F811
    ada, bo = operators
    await inbox.claim(workspace, talk, bo)
    await demote(workspace, ada)
    await team.change_role(workspace, bo, "admin")
    assert (await db.row(HOLDER, talk))["assigned_to"] == bo
    await changes.end(workspace, talk, "agent")
    await make.user(workspace, "admin")
    await demote(workspace, bo)
    assert (await db.row(HOLDER, talk))["assigned_to"] == bo


async def test_who_was_let_go_meanwhile_is_assigned_nothing(workspace, talk, operators):  # noqa: F811
    ada, bo = operators

    async def late():
        with pytest.raises(Invalid, match="somebody who answers visitors"):
            await inbox.assign(workspace, talk, ada, bo)

    await overlapped(lambda: demote(workspace, bo), late)
    assert (await db.row(HOLDER, talk))["assigned_to"] is None


async def test_who_takes_one_while_they_are_let_go_does_not_keep_it(workspace, talk, operators):  # noqa: F811
    await overlapped(lambda: inbox.claim(workspace, talk, operators[0]), lambda: demote(workspace, operators[0]))
    assert (await db.row(HOLDER, talk))["assigned_to"] is None


async def snooze(workspace, talk, user):
    await end_and_snooze.snooze(workspace, talk, user, clock.now() + timedelta(days=1))


@pytest.mark.parametrize("take", [inbox.claim, partial(inbox.reply, content="Hello"), snooze])
async def test_who_answers_no_more_takes_nothing(workspace, talk, operators, take):  # noqa: F811
    """Their request had begun before."""
    ada = operators[0]

    async def late():
        with pytest.raises(Forbidden, match="do not answer visitors any more"):
            await take(workspace, talk, ada)

    await overlapped(lambda: demote(workspace, ada), late)
    assert tuple(await db.row(HOLDER, talk)) == (None, None, None)
