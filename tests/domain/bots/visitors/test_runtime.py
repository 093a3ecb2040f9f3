"""A visitor's turn: one transaction, its events, its lead; repeated, refused, handed over, ended."""

import asyncio
import re

import asyncpg
import pytest

from leadwire.domain.bots import changes, reads
from leadwire.domain.bots.changes import visitor_sessions
from leadwire.domain.bots.flow import library
from leadwire.domain.bots.schema import VisitorBlocked
from leadwire.domain.bots.visitors import decide, runtime, store
from leadwire.domain.conversations import changes as conversations
from leadwire.domain.conversations import reads as conversation_reads
from leadwire.domain.conversations.store import ConcurrentUpdate
from leadwire.domain.leads import changes as leads
from leadwire.domain.leads.schema import LeadPatch, custom_fields
from leadwire.domain.privacy import erasure
from leadwire.infrastructure import db
from leadwire.infrastructure.db.pool import Connection
from leadwire.infrastructure.errors import Conflict, NotFound
from tests import make
from tests.domain.bots.conftest import Visitor, published
from tests.domain.bots.flows import SMALL


async def lead_of(workspace, visitor):
    return (await conversation_reads.detail(workspace, visitor.conversation)).lead


async def test_a_visit_from_the_first_word_to_the_hand_over(workspace, visitor, desk):
    assert await visitor.says("ada@example.com") == ["Your e-mail?", "How big?"]
    assert (visitor.last.status, visitor.last.prompt.options) == ("active", ("Small", "Large"))
    assert await visitor.says("l") == ["One moment."]
    assert (visitor.last.status, visitor.last.prompt) == ("handoff", None)
    detail = await conversation_reads.detail(workspace, visitor.conversation)
    assert [(message.role, message.content) for message in detail.messages] == [
        ("bot", "Your e-mail?"),
        ("user", "ada@example.com"),
        ("bot", "How big?"),
        ("user", "Large"),  # the option's label, though its value was sent
        ("bot", "One moment."),
    ]
    assert (detail.visitor.email, detail.metadata.flow_version) == ("ada@example.com", 1)
    assert custom_fields(detail.lead) == {"size": "l"}
    assert (detail.lead.score, detail.lead.source.campaign) == (50, "spring")
    events = await make.emitted()
    assert [event["event"] for event in events] == [
        "conversation.started",
        "message.sent",
        "message.received",
        "message.sent",
        "lead.created",
        "message.received",
        "message.sent",
        "lead.updated",
        "conversation.handoff",
    ]
    assert events[7]["data"]["previous_attributes"] == {"score": 0, "custom_fields": {"size": None}}
    assert events[8]["data"]["handoff"]["reason"] == "the flow asked for a person"
    assert events[8]["data"]["lead"]["score"] == 50


async def test_answers_beyond_what_a_lead_may_hold_are_left_out_and_the_visit_goes_on(workspace):
    ask = '[[nodes]]\ntype = "ask"\nid = "{}"\ntext = "{}?"\nsave_to = "{}"\nnext = "{}"\n'
    names = [f"detail{number}" for number in range(5)]
    flow = 'format = 1\nstart = "email"\n' + ask.format("email", "email", "email", names[0]).replace(
        "next", 'input = "email"\nnext'
    )
    for name, following in zip(names, [*names[1:], "bye"], strict=True):
        flow += ask.format(name, name, f"custom_fields.{name}", following)
    flow += '[[nodes]]\ntype = "end"\nid = "bye"\ntext = "Thank you."\n'
    visitor = Visitor(await published(workspace, flow))
    await visitor.says("ada@example.com")
    for _ in names:
        said = await visitor.says("😀" * 1000)  # 4 KB; a lead holds 12 KiB
    assert said == ["Thank you."]
    assert list(custom_fields(await lead_of(workspace, visitor))) == names[:3]


@pytest.mark.parametrize(("typed", "kept"), [("12", "12"), ("1,200.5", "1200.5"), ("-3", "-3")])
async def test_a_number_that_a_bot_keeps_in_a_custom_field_is_a_string(workspace, typed, kept):
    asks = SMALL.replace('input = "choice"', 'input = "number"')
    asks = re.sub(r"options = .*\n", "", asks).replace('{ var = "score", op', '{ var = "size", op')
    visitor = Visitor(await published(workspace, asks))
    await visitor.says("ada@example.com")
    await visitor.says(typed)
    assert custom_fields(await lead_of(workspace, visitor)) == {"size": kept}
    updated = next(event for event in await make.emitted() if event["event"] == "lead.updated")
    assert updated["data"]["custom_fields"] == {"size": kept}


async def test_the_score_is_explained(workspace, visitor):
    await visitor.says("ada@example.com")
    await visitor.says("Large")
    lead = await lead_of(workspace, visitor)
    entries = await reads.score_of(workspace, lead.id)
    assert [(entry.label, entry.points) for entry in entries] == [("business", 20), ("size: Large", 30)]
    assert lead.score == sum(entry.points for entry in entries)
    assert await reads.score_of("ws_other", lead.id) == []


async def test_a_repeated_message_gets_the_stored_reply_and_tells_nobody(visitor):
    await visitor.says("ada@example.com")
    first = await visitor.says("what?", "the-same-message")
    last = visitor.last
    await make.emitted(forget=True)
    again = await asyncio.gather(*(visitor.says("what?", "the-same-message") for _ in range(5)))
    assert again == [first] * 5
    assert visitor.last == last
    assert await make.kinds() == []


async def test_a_repeated_start_is_the_same_conversation(live):
    visitors = [Visitor(live) for _ in range(6)]
    await asyncio.gather(*(visitor.says("ada@example.com", "one-start-only-one") for visitor in visitors))
    assert len({visitor.conversation for visitor in visitors}) == 1
    assert len({tuple(said.content for said in visitor.last.messages) for visitor in visitors}) == 1
    assert (await make.kinds()).count("conversation.started") == 1
    good = [visitor for visitor in visitors if await visitor.visit()]
    assert len(good) == 1  # the last answer's token
    await good[0].says("Small")
    with pytest.raises(Conflict) as refused:  # nobody can take a conversation over that has gone on
        await Visitor(live).says("ada@example.com", "one-start-only-one")
    assert refused.value.code == "already_started"


BROKEN = """visit AS (
    UPDATE visit SET inactivity_minutes = 1 / (length(changed.id) - length(changed.id)) FROM changed
    WHERE conversation_id = changed.id
)"""
"""A part of a turn that cannot be stored, in place of the state."""


async def test_nothing_is_stored_when_a_turn_fails(workspace, visitor, monkeypatch, desk):
    await visitor.says("ada@example.com")
    await make.emitted(forget=True)

    monkeypatch.setitem(store._PARTS, "state", BROKEN)
    with pytest.raises(asyncpg.DivisionByZeroError):
        await visitor.says("Large", "the-message-that-broke")
    monkeypatch.undo()
    assert await make.kinds() == []
    assert len((await conversation_reads.detail(workspace, visitor.conversation)).messages) == 3
    assert await visitor.says("Large", "the-message-that-broke") == ["One moment."]


async def test_a_bot_that_is_deleted_while_a_visitor_begins_is_not_there(workspace, visitor):
    await changes.change_state(workspace, visitor.bot.id, "deleted")
    with pytest.raises(NotFound):
        await visitor.says("Hello")


async def test_a_bot_that_breaks_hands_over(workspace, visitor, monkeypatch):
    await visitor.says("ada@example.com")
    monkeypatch.setattr(decide.engine, "step", lambda *_: 1 / 0)
    assert "colleague" in (await visitor.says("Large"))[0]
    assert visitor.last.status == "handoff"
    assert (
        await conversation_reads.detail(workspace, visitor.conversation)
    ).metadata.handoff.reason == "the bot failed"


async def test_messages_at_once_are_taken_one_after_the_other(workspace, visitor):
    await visitor.says("ada@example.com")
    await asyncio.gather(*(visitor.says(f"nonsense {n}") for n in range(2)), return_exceptions=True)
    await asyncio.gather(*(visitor.says(f"hello {n}") for n in range(8)))  # in handoff by now: nobody answers
    detail = await conversation_reads.detail(workspace, visitor.conversation)
    users = [message.content for message in detail.messages if message.role == "user"]
    assert len(users) == len(set(users)) == 11
    assert (await make.kinds()).count("message.received") == 11


async def test_an_ended_conversation_takes_no_more(workspace, visitor):
    await visitor.says("ada@gmail.com")
    assert await visitor.says("Small") == ["Bye ada@gmail.com."]
    assert visitor.last.status == "ended"
    assert (await make.kinds())[-1] == "conversation.ended"
    with pytest.raises(Conflict) as refused:
        await visitor.says("wait")
    assert refused.value.code == "conversation_ended"
    with pytest.raises(Conflict):
        await runtime.hand_off(await visitor.visit())


async def test_a_message_that_comes_again_after_the_end_gets_its_reply(visitor):
    await visitor.says("ada@gmail.com")
    await visitor.says("Small", "the-very-last-message")
    assert await visitor.says("Small", "the-very-last-message") == ["Bye ada@gmail.com."]


async def test_the_visitor_asks_for_a_person(workspace, visitor, desk):
    await visitor.says("what?")
    asked = await runtime.hand_off(await visitor.visit())
    again = await runtime.hand_off(await visitor.visit())
    assert (asked.status, len(asked.messages), again.messages) == ("handoff", 1, [])
    assert await visitor.says("Is anybody there?") == []
    assert (await make.kinds()).count("conversation.handoff") == 1


async def test_a_known_person_is_enriched_and_never_overwritten(workspace, live):
    first = Visitor(live)
    await first.says("ada@example.com")
    known = await lead_of(workspace, first)
    await leads.update(workspace, known.id, LeadPatch(name="Ada", score=90), unchanged={})
    await make.emitted(forget=True)
    stranger = Visitor(live)
    await stranger.says("ADA@example.com")
    await stranger.says("Small")
    lead = await lead_of(workspace, stranger)
    assert (lead.id, lead.name, lead.score) == (known.id, "Ada", 90)
    assert lead.conversation_id == first.conversation
    assert (await make.kinds()).count("lead.updated") == 1  # the size, new
    detail = await conversation_reads.detail(workspace, stranger.conversation)
    assert detail.visitor.name is None  # what the stranger did not say


async def test_whom_the_visitor_has_become_stays_so_when_the_address_is_corrected(workspace, live):
    """Their next answer made another lead of the address as they had typed it, and the conversation that one's."""
    first, visitor = Visitor(live), Visitor(live)
    await first.says("ada@example.com")
    await visitor.says("ada@example.com")
    known = await lead_of(workspace, visitor)
    await leads.update(workspace, known.id, LeadPatch(email="ada@example.org"), unchanged={})
    await visitor.says("Small")
    lead = await lead_of(workspace, visitor)
    assert (lead.id, lead.email, custom_fields(lead)) == (known.id, "ada@example.org", {"size": "Small"})
    assert await db.value("SELECT count(*) FROM lead") == 1


async def test_the_visitors_correction_corrects_their_own_lead(workspace):
    twice = SECOND_EMAIL
    visitor = Visitor(await published(workspace, twice))
    await visitor.says("ada@exmple.com")
    lead = await lead_of(workspace, visitor)
    await visitor.says("ada@example.com")
    after = await lead_of(workspace, visitor)
    assert (after.id, after.email) == (lead.id, "ada@example.com")


async def test_a_corrected_address_that_is_somebody_elses_makes_the_visitor_that_lead(workspace):
    bot = await published(workspace, SECOND_EMAIL)
    known = Visitor(bot)
    await known.says("ada@example.com")
    visitor = Visitor(bot)
    await visitor.says("bea@example.com")
    await visitor.says("ada@example.com")
    assert (await lead_of(workspace, visitor)).id == (await lead_of(workspace, known)).id


SECOND_EMAIL = """
format = 1
start = "one"
[[nodes]]
type = "ask"
id = "one"
text = "E-mail?"
input = "email"
save_to = "email"
next = "two"
[[nodes]]
type = "ask"
id = "two"
text = "Sure?"
input = "email"
save_to = "email"
next = "one"
"""


async def test_an_erased_lead_stays_erased_while_its_visitor_goes_on(workspace, visitor):
    await visitor.says("ada@example.com")
    lead = await lead_of(workspace, visitor)
    await erasure.erase_lead(workspace, lead.id)
    await visitor.says("Large")
    detail = await conversation_reads.detail(workspace, visitor.conversation)
    assert detail.lead is None
    assert "ada@example.com" not in str(detail)
    assert await db.value("SELECT address FROM visit") is None


PLAIN = """
format = 1
start = "one"
[[nodes]]
type = "ask"
id = "one"
text = "What do you sell?"
next = "two"
[[nodes]]
type = "ask"
id = "two"
text = "Your e-mail?"
input = "email"
save_to = "email"
next = "one"
"""


async def test_a_turn_that_was_begun_before_an_erasure_brings_nothing_back(workspace):
    visitor = Visitor(await published(workspace, PLAIN))
    for text in ("Chairs", "ada@example.com"):
        await visitor.says(text)
    before = await visitor.visit()
    await erasure.erase_lead(workspace, (await lead_of(workspace, visitor)).id)
    taken = await runtime.handle_message(before, "Tables", "m1", visitor.answerer)
    assert [message.content for message in taken.messages] == ["Tables", "Your e-mail?"]
    assert await db.value("SELECT variables::text LIKE '%ada@%' FROM conversation") is False


async def test_a_turn_says_what_is_stored(live):
    """It is not read again: after each of these the session is as `reads.current` has it."""
    talks = (["what?", "x", "ada@example.com"], ["ada@example.com", "Small"], ["ada@work.example", "Large", "thanks"])
    for texts in talks:
        visitor = Visitor(live)
        for text in texts:
            await visitor.says(text)
            visit = await visitor.visit()
            again = runtime.turn_of(await reads.current(visit), visitor.last.messages, visitor.last.token)
            assert again == visitor.last, text


async def test_erasing_forgets_what_the_bot_repeated_and_why_the_score(workspace, visitor):
    await visitor.says("ada@gmail.com")
    await visitor.says("Small")
    lead = await lead_of(workspace, visitor)
    await erasure.erase_lead(workspace, lead.id)
    assert "ada@gmail.com" not in str(await conversation_reads.detail(workspace, visitor.conversation))
    assert await db.value("SELECT count(*) FROM score_entry") == 0


async def test_who_begins_again_waits_for_an_address_before_anything_is_locked(visitor, live, monkeypatch):
    """Else one who has a lead waits for an address, and who has that for the lead."""
    await Visitor(live).says("ada@example.com")
    await visitor.says("what?")
    fetch, storing, locks = Connection.fetch, runtime.store_turn, []

    async def noted(connection, text, *args, **options):
        locks.extend(kind for kind in ("advisory", "FOR UPDATE") if kind in text)
        return await fetch(connection, text, *args, **options)

    async def changed_meanwhile(*_):
        monkeypatch.setattr(runtime, "store_turn", storing)
        raise ConcurrentUpdate

    monkeypatch.setattr(Connection, "fetch", noted)
    monkeypatch.setattr(runtime, "store_turn", changed_meanwhile)
    await visitor.says("ada@example.com")
    assert locks[0] == "advisory"
    assert "FOR UPDATE" in locks


async def test_turns_and_erasures_at_once_never_break(workspace, live):
    async def visit(number):
        visitor = Visitor(live)
        await visitor.says("ada@example.com")
        await visitor.says("Small")

    async def erase():
        for _ in range(6):
            for row in await db.rows("SELECT id FROM lead WHERE workspace_id = $1", workspace):
                try:
                    await erasure.erase_lead(workspace, row["id"])
                except (NotFound, db.Deadlock):  # the second is answered 503, try again
                    continue

    await asyncio.gather(*(visit(number) for number in range(12)), erase(), erase())
    assert await db.value("SELECT count(*) FROM conversation WHERE status <> 'ended'") == 0


async def test_a_full_conversation_refuses_politely(workspace, visitor):
    await visitor.says("what?")
    await db.rows("UPDATE conversation SET messages_count = 999 WHERE id = $1", visitor.conversation)
    with pytest.raises(Conflict) as refused:
        await visitor.says("ada@example.com")
    assert refused.value.code == "conversation_full"


async def test_the_message_that_filled_a_conversation_gets_its_reply_again(visitor):
    """It was refused as one too many when its answer was lost, and shown as not delivered."""
    await visitor.says("what?")
    await db.rows("UPDATE conversation SET messages_count = 998 WHERE id = $1", visitor.conversation)
    said = await visitor.says("ada@example.com", "the-very-last-message")
    assert await visitor.says("ada@example.com", "the-very-last-message") == said == ["How big?"]


async def test_a_blocked_visitor_is_refused(workspace, live, visitor, operators):
    await visitor.says("what?")
    await visitor_sessions.block(workspace, visitor.conversation, operators[0])
    with pytest.raises(VisitorBlocked):
        await Visitor(live).says("hello?")
    await visitor_sessions.unblock(workspace, visitor.conversation)
    assert await Visitor(live).says("hello?")


async def test_questions_are_answered_from_the_faq(workspace):
    bot = await published(workspace, library.text("support-triage"))
    await changes.add_faq_entry(workspace, bot.id, "How do I verify a webhook signature?", "Use HMAC-SHA256.")
    await changes.add_faq_entry(workspace, bot.id, "Where are my invoices?", "Under Billing.")
    visitor = Visitor(bot)
    await visitor.says("A question")
    assert (await visitor.says("verifying signatures of webhooks?"))[0] == "Use HMAC-SHA256."
    assert (await visitor.says("can I see an invoice"))[0] == "Under Billing."
    assert (await visitor.says("what is the meaning of it all' & | ! ( :*"))[0].startswith("I do not know")


async def test_a_question_is_looked_up_outside_of_the_transaction_and_once_per_message(workspace):
    asked = []

    async def answer(question):
        asked.append((question.text, question.asked, db.in_transaction()))
        return "Because."

    visitor = Visitor(await published(workspace, library.text("support-triage")), answer)
    await visitor.says("A question")
    await visitor.says("Why?", "asked-once-and-again")
    await visitor.says("Why?", "asked-once-and-again")
    await visitor.says("How?")
    assert asked == [("Why?", 0, False), ("How?", 1, False)]


async def test_an_answerer_that_fails_is_one_that_does_not_know(workspace):
    async def answer(question):
        raise OSError("no route")

    visitor = Visitor(await published(workspace, library.text("support-triage")), answer)
    await visitor.says("A question")
    assert (await visitor.says("Why?"))[0].startswith("I do not know")


async def test_another_change_of_the_conversation_during_a_look_up_is_seen(workspace):
    async def answer(question):
        await conversations.end(workspace, visitor.conversation, "api")
        return "Too late."

    visitor = Visitor(await published(workspace, library.text("support-triage")), answer)
    await visitor.says("A question")
    with pytest.raises(Conflict):
        await visitor.says("Why?")
    assert "Too late." not in str(await conversation_reads.detail(workspace, visitor.conversation))
