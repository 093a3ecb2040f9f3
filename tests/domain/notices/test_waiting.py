"""A visitor who waits for a person while nobody has the inbox open."""

import pytest

from leadwire.domain.bots.visitors import runtime
from leadwire.domain.conversations.changes import inbox
from leadwire.domain.mail import compose
from leadwire.domain.mail.schema import Contents
from leadwire.domain.notices import changes
from leadwire.domain.notices.schema import WAITING
from leadwire.infrastructure import clock, db
from tests.domain.bots.conftest import Visitor, desk, live, operators  # noqa: F401 - fixtures
from tests.domain.notices.telling import tell
from tests.mailing import mails

pytestmark = pytest.mark.usefixtures("mailing", "operators")
PAUSE = WAITING.pause.total_seconds() + 1


@pytest.fixture
async def waits(live, db_clock):  # noqa: F811
    """Lets a visitor ask for a person, and a minute pass."""

    async def wait():
        visitor = Visitor(live)
        await visitor.says("what?")
        await runtime.hand_off(await visitor.visit())
        await db_clock.forward(61)
        return visitor.conversation

    return wait


async def sweep():
    return await tell("waiting")


async def test_those_who_answer_visitors_are_told_once_and_together(waits, db_clock):
    conversation = await waits()
    assert [await sweep() for _ in range(2)] == [2, 0]
    (to, values), _ = await mails("waiting")
    assert to == "agent0@example.com"
    assert (values["count"], values["path"]) == (1, f"/inbox?c={conversation}")
    for _ in range(3):
        await waits()
    assert await sweep() == 0  # not so soon after the last
    await db_clock.forward(PAUSE)
    assert [await sweep() for _ in range(2)] == [2, 0]
    assert [values["count"] for _, values in await mails("waiting")] == [1, 1, 3, 3]


async def test_nobody_is_told_before_a_minute_or_of_whom_somebody_took(waits, workspace, operators, db_clock):  # noqa: F811
    conversation = await waits()
    await db_clock.forward(-30)
    assert await sweep() == 0
    await db_clock.forward(30)
    await inbox.claim(workspace, conversation, operators[0])
    assert await sweep() == 0
    await inbox.release(workspace, conversation, operators[0])
    assert await sweep() == 2


async def test_what_was_looked_for_and_is_no_longer_there_puts_off_no_mail(waits, workspace, operators):  # noqa: F811
    await inbox.claim(workspace, await waits(), operators[0])
    assert await changes.tell(workspace, "waiting") == 0  # by a job that was found before
    await waits()
    assert await sweep() == 2


async def test_nobody_is_told_while_somebody_has_the_inbox_open(waits, desk):  # noqa: F811
    await waits()
    assert await sweep() == 0
    await db.rows("UPDATE user_session SET present_at = $1", clock.ago(minutes=10))  # and has closed it
    assert await sweep() == 2


async def test_who_is_back_in_the_queue_is_told_again(waits, workspace, operators, db_clock):  # noqa: F811
    conversation = await waits()
    assert await sweep() == 2
    await inbox.claim(workspace, conversation, operators[0])
    assert await sweep() == 0
    await inbox.release(workspace, conversation, operators[0])
    await db_clock.forward(PAUSE)
    assert [await sweep() for _ in range(2)] == [2, 0]


async def test_the_mail_names_the_bot_and_nothing_of_the_visitor(waits):
    conversation = await waits()
    assert await sweep() == 2
    (_, values), _ = await mails("waiting")
    made = compose.content("waiting", Contents(values, "/unsubscribe/x"), "https://leads.example")
    assert made.subject == "A visitor waits for a person in Test"
    assert "- at the bot Bot, since " in made.text
    assert f"https://leads.example/inbox?c={conversation}\n" in made.text
    assert "what?" not in made.text
    assert "No more mails of this kind: https://leads.example/unsubscribe/x" in made.text


async def test_an_address_that_was_never_checked_keeps_nobody_else_from_being_told(waits, workspace, person):
    await person(workspace, "agent", "two@at@example.org")
    await waits()
    assert await sweep() == 2
