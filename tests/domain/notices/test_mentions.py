"""Notes that mention colleagues."""

import pytest

from leadwire.domain.bots.visitors import runtime
from leadwire.domain.notices import changes
from leadwire.infrastructure import db
from tests.domain.bots.conftest import Visitor, live, operators  # noqa: F401 - fixtures
from tests.domain.notices.telling import tell
from tests.mailing import mails

pytestmark = pytest.mark.usefixtures("mailing")


@pytest.fixture
async def talk(live):  # noqa: F811
    visitor = Visitor(live)
    await visitor.says("My name is Ada Lovelace")
    await runtime.hand_off(await visitor.visit())
    return visitor.conversation


async def test_who_is_mentioned_gets_one_mail_without_the_words(workspace, talk, operators):  # noqa: F811
    text = "@agent1 and @agent0: call Ada Lovelace"
    assert await changes.note(workspace, talk, operators[0], text, "agent0@example.com") == 1
    ((to, values),) = await mails("mentions")
    assert to == "agent1@example.com"
    assert (values["by"], values["path"]) == ("agent0@example.com", f"/inbox?c={talk}")
    assert "Lovelace" not in str(values)
    assert await tell("waiting") == 0  # nothing more of it
    assert await changes.note(workspace, talk, operators[0], "Nobody", "agent0@example.com") == 0


async def test_who_has_not_chosen_it_gets_none_and_sees_it_all_the_same(workspace, talk, operators):  # noqa: F811
    await changes.choose(workspace, operators[1], ["waiting"])
    assert await changes.note(workspace, talk, operators[0], "@agent1!", "agent0@example.com") == 0
    assert await db.value("SELECT user_id FROM conversation_read WHERE mentioned_at IS NOT NULL") == operators[1]


async def test_one_person_sends_a_few_an_hour_and_is_seen_in_the_inbox_all_the_same(workspace, talk, operators):  # noqa: F811
    notes = [f"@agent1 {number}" for number in range(40)]
    sent = [await changes.note(workspace, talk, operators[0], note, "agent0@example.com") for note in notes]
    assert sent == [1] * 30 + [0] * 10
    assert await db.value("SELECT count(*) FROM conversation_note") == 40
    assert await changes.note(workspace, talk, operators[1], "@agent0", "agent1@example.com") == 1
