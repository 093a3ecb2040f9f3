"""What the inbox lists: for whom, in which order, how much of it; mentions, tags and first answers."""

import pytest

from leadwire.domain.bots.visitors import runtime
from leadwire.domain.conversations import changes as conversations
from leadwire.domain.conversations import inbox_reads, reads
from leadwire.domain.conversations.changes import inbox, seen
from leadwire.domain.conversations.inbox_reads import Wanted
from leadwire.domain.conversations.schema import Origin
from leadwire.infrastructure import clock, db
from leadwire.infrastructure.errors import Invalid
from tests import make
from tests.domain.bots.conftest import Visitor, hand_back, live, operators  # noqa: F401 - fixtures

MANY = """
INSERT INTO conversation (id, workspace_id, bot_id, status, variables, handoff_requested_at, created_at, updated_at)
SELECT 'conv_' || lpad(n::text, 26, '0'), workspace_id, bot_id, 'handoff', '{}', now() - n * interval '1 minute', now(),
    now() FROM conversation, generate_series(1, 300) n"""


@pytest.fixture
async def waiting(live):  # noqa: F811
    """A visitor who waits for a person."""
    visitor = Visitor(live)
    await visitor.says("what?")
    await runtime.hand_off(await visitor.visit())
    await make.emitted(forget=True)
    return visitor


async def listed(workspace, user, **wanted):
    found = await inbox_reads.threads(workspace, user, Wanted(**wanted))
    return {place: [one["id"] for one in some] for place, some in found.places.items() if some}


async def test_each_is_in_one_list_of_each_person(workspace, waiting, operators, live):  # noqa: F811
    talk, (ada, grace) = waiting.conversation, operators
    assert await listed(workspace, ada) == {"waiting": [talk]}
    await inbox.claim(workspace, talk, ada)
    assert await listed(workspace, ada) == {"mine": [talk]}
    assert await listed(workspace, grace) == {"theirs": [talk]}
    await hand_back(workspace, talk, ada)
    assert await listed(workspace, grace) == {"bot": [talk]}
    await inbox.assign(workspace, talk, ada, grace)  # from the bot
    assert await make.kinds() == ["message.sent", "conversation.handoff"]
    assert await listed(workspace, grace) == {"mine": [talk]}
    assert await listed(workspace, grace, place="mine", bot_id=live.id) == {"mine": [talk]}
    assert await listed(workspace, grace, bot_id="bot_other") == {}
    assert await listed("ws_other", grace) == {}


async def test_only_who_answers_visitors_is_assigned(workspace, waiting, operators):  # noqa: F811
    await db.rows("UPDATE user_account SET role = 'viewer' WHERE id = $1", operators[1])
    for nobody in (operators[1], "user_x", ""):
        with pytest.raises(Invalid):
            await inbox.assign(workspace, waiting.conversation, operators[0], nobody)


async def test_lists_are_bounded_and_say_how_many_more_there_are(workspace, waiting, operators):  # noqa: F811
    await db.rows(MANY)
    found = await inbox_reads.threads(workspace, operators[0], Wanted())
    assert (len(found.places["waiting"]), found.more["waiting"]) == (40, 261)
    assert found.places["waiting"][0]["id"] == f"conv_{300:026}"  # who waits longest
    alone = await inbox_reads.threads(workspace, operators[0], Wanted(place="waiting"))
    assert (len(alone.places["waiting"]), alone.more["waiting"], list(alone.places)) == (200, 101, ["waiting"])


async def test_of_mine_those_that_wait_longest_come_first_if_asked_for(workspace, live, operators):  # noqa: F811
    talks = []
    for minutes in (30, 20, 10):
        visitor = Visitor(live)
        await visitor.says("what?")
        await runtime.hand_off(await visitor.visit())
        await inbox.claim(workspace, visitor.conversation, operators[0])
        if minutes == 30:
            await inbox.reply(workspace, visitor.conversation, operators[0], "Hello")
        await db.rows(
            "UPDATE conversation SET updated_at = $1 WHERE id = $2", clock.ago(minutes=minutes), visitor.conversation
        )
        talks.append(visitor.conversation)
    assert await listed(workspace, operators[0]) == {"mine": talks[::-1]}
    assert await listed(workspace, operators[0], longest=True) == {"mine": [talks[1], talks[2], talks[0]]}


async def test_a_row_says_what_the_visitor_said_and_since_when_they_wait(workspace, waiting, operators):  # noqa: F811
    talk, (ada, grace) = waiting.conversation, operators
    asked = await db.value("SELECT handoff_requested_at FROM conversation")

    async def row(place, user=ada):
        (one,) = (await inbox_reads.threads(workspace, user, Wanted())).places[place]
        assert one["waits_since"] == (await inbox_reads.one(workspace, talk, user))["waits_since"]
        return one["words"], one["waits_since"]

    assert await row("waiting") == ("what?", asked)  # the bot has spoken since
    await inbox.claim(workspace, talk, ada)
    assert await row("mine") == ("what?", asked)
    await inbox.reply(workspace, talk, ada, "This is a shop.")
    assert await row("mine") == ("what?", None)
    await waiting.says("Of what?")
    again = await db.value("SELECT created_at FROM message ORDER BY seq DESC LIMIT 1")
    await waiting.says("Hello?")
    assert await row("mine") == await row("theirs", grace) == ("Hello?", again)
    await inbox.release(workspace, talk, ada)
    assert await row("waiting") == ("Hello?", asked)
    assert tuple(await inbox_reads.counts(workspace, ada)) == (0, 1)
    await hand_back(workspace, talk, ada)
    assert await row("bot") == ("Hello?", None)
    assert tuple(await inbox_reads.counts(workspace, ada)) == (0, 0)


async def test_who_asks_for_a_person_again_waits_since_then(workspace, waiting, operators):  # noqa: F811
    """Not since they wrote to the bot, which had the conversation back."""
    talk, (ada, _) = waiting.conversation, operators
    await inbox.reply(workspace, talk, ada, "This is a shop.")
    await hand_back(workspace, talk, ada)
    await waiting.says("ada@example.com")
    await runtime.hand_off(await waiting.visit())
    asked = await db.value("SELECT handoff_requested_at FROM conversation")
    await inbox.claim(workspace, talk, ada)
    assert (await inbox_reads.one(workspace, talk, ada))["waits_since"] == asked
    await waiting.says("Hello?")
    assert (await inbox_reads.one(workspace, talk, ada))["waits_since"] == asked


async def test_a_row_does_not_repeat_the_name_unless_there_is_nothing_else(workspace, bot, operators):  # noqa: F811
    talk = await conversations.start(workspace, bot, Origin())
    await conversations.add_message(workspace, talk, "user", "Ada", answers="name")
    await conversations.hand_off(workspace, talk, "asked")

    async def words():
        (one,) = (await inbox_reads.threads(workspace, operators[0], Wanted())).places["waiting"]
        return one["words"]

    assert await words() == "Ada"
    await conversations.add_message(workspace, talk, "user", "Prices", answers="custom_fields.topic")
    await conversations.add_message(workspace, talk, "user", "ada@example.com", answers="email")
    assert await words() == "Prices"


async def test_what_is_not_read_is_counted_for_each_person(workspace, waiting, operators):  # noqa: F811
    talk, (ada, grace) = waiting.conversation, operators

    async def unread(user):
        return [one["unread"] for one in (await inbox_reads.threads(workspace, user, Wanted())).places["waiting"]]

    assert await unread(ada) == [1]
    await seen.by_agent(workspace, talk, ada, (await inbox_reads.one(workspace, talk, ada))["messages_count"])
    assert (await unread(ada), await unread(grace)) == ([0], [1])
    for _ in range(12):
        await waiting.says("Hello?")
    assert await unread(ada) == [inbox_reads.MOST_UNREAD]


async def test_a_note_mentions_colleagues_until_they_have_read_it(workspace, waiting, operators):  # noqa: F811
    talk, (ada, grace) = waiting.conversation, operators
    mentioned = await inbox.note(workspace, talk, ada, "@agent1, @nobody and x@agent0: see agent1@example.com.")
    assert [one.id for one in mentioned] == [grace]
    await inbox.claim(workspace, talk, ada)
    await reads.detail(workspace, talk)
    found = await inbox_reads.threads(workspace, grace, Wanted())
    assert [one["mentioned"] for one in found.places["theirs"]] == [True]
    assert await listed(workspace, grace, place="mentions") == {"mentions": [talk]}
    assert await listed(workspace, ada, place="mentions") == {}
    await seen.by_agent(workspace, talk, grace, 1)
    assert await listed(workspace, grace, place="mentions") == {}
    assert await inbox.note(workspace, talk, ada, "@agent0@example.com is me") == []


async def test_tags_are_bounded(workspace, waiting, operators):  # noqa: F811
    talk = waiting.conversation
    await inbox.tag(workspace, talk, " Pricing,urgent ,, PRICING,two  words")
    assert await db.value("SELECT tags FROM conversation") == ["pricing", "urgent", "two words"]
    pasted = ",".join(f"tag {number}" for number in range(10_000))
    for wrong in ("", " , ", "x" * 41, pasted, ",".join("abcdefghijklmnopqrstu")):
        with pytest.raises(Invalid):
            await inbox.tag(workspace, talk, wrong)
    await inbox.untag(workspace, talk, "urgent")
    await inbox.untag(workspace, talk, "not there")
    assert await db.value("SELECT tags FROM conversation") == ["pricing", "two words"]
    assert await listed(workspace, operators[0], tag="pricing") == {"waiting": [talk]}
    assert await listed(workspace, operators[0], tag="urgent") == {}


async def test_the_first_answer_is_kept(workspace, waiting, operators):  # noqa: F811
    talk = waiting.conversation
    assert (await inbox_reads.one(workspace, talk, operators[0]))["first_response_at"] is None
    await inbox.reply(workspace, talk, operators[0], "Hello")
    first = (await inbox_reads.one(workspace, talk, operators[0]))["first_response_at"]
    with clock.at(clock.now() + (clock.now() - clock.ago(hours=1))):
        await inbox.reply(workspace, talk, operators[0], "Hello again")
    assert (await inbox_reads.one(workspace, talk, operators[0]))["first_response_at"] == first
