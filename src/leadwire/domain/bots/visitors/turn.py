"""The inside of a turn: what the engine's effects become, in the transaction that `runtime` has opened.

When a person is asked for and nobody has the inbox open, the bot says so, and asks for an e-mail address.
"""

import itertools
import logging
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import structs

from leadwire.domain.accounts import reads as accounts
from leadwire.domain.bots import engine
from leadwire.domain.bots.changes import consents, counts, visitor_sessions
from leadwire.domain.bots.engine import Consented, Effect, Ended, HandedOff, Reply, Saved, Scored, State
from leadwire.domain.bots.flow import hours, inputs
from leadwire.domain.bots.flow.expressions import fill
from leadwire.domain.bots.flow.nodes import Ask, Scalar
from leadwire.domain.bots.schema import VisitorSession
from leadwire.domain.bots.visitors.told import CUSTOM, added, attributes, vouched
from leadwire.domain.conversations import changes as conversations
from leadwire.domain.conversations.schema import (
    MAX_MESSAGES,
    MAX_TEXT,
    ConcurrentUpdate,
    NewMessage,
    StoredMessage,
    Told,
)
from leadwire.domain.leads import changes as leads
from leadwire.domain.leads import identity, reads
from leadwire.domain.leads.schema import Lead, LeadPatch, custom_fields, fitting
from leadwire.infrastructure import clock, telemetry
from leadwire.infrastructure.db.statements import sql
from leadwire.infrastructure.errors import Conflict, NotFound, Unavailable

_AROUND: Final = re.compile(r"[\s<>()\[\],;:\"']+")  # what parts an address from the words around it
_LONGEST: Final = 254  # characters of an address
_TRIED: Final = 5  # words of one message

# Whether the visitor's address is known, whether somebody has claimed the conversation, and whether it is full.
_CONTACT: Final = sql("""
SELECT coalesce(l.email, c.visitor_email) IS NOT NULL, c.assigned_to IS NOT NULL, c.messages_count >= :most
FROM conversation c LEFT JOIN lead l ON l.id = c.lead_id WHERE c.workspace_id = :workspace AND c.id = :conversation""")


Taken = tuple[VisitorSession, list[StoredMessage]]
"""The session after a turn, and the messages of it."""


async def take(
    session: VisitorSession,
    user: NewMessage,
    answer: str | None,
    greeting: Sequence[Effect] = (),
    page: Mapping[str, str] | None = None,
) -> Taken:
    """Store the visitor's message, and what follows from it. The greeting's messages come first.

    `answer` as for `engine.step`; `page` is what the page tells of the visitor. Raise ConcurrentUpdate; others
    as `conversations.changes.add_messages`.
    """
    known = structs.replace(session.state, variables=added(session.state.variables, page or {}))
    if session.status == "handoff":  # a person answers, not the bot
        email = _address(user.content)
        reachable, claimed, _ = await _contact(session)
        if email is None or reachable or claimed:
            if known != session.state:
                return await write(session, known, [user])
            told = Told(session.version)
            return session, await conversations.add_messages(*session.place, [user], told)
        user = structs.replace(user, answers="email")
        thanks = Reply(session.flow.away_thanks_text)
        return await write(session, known, [user, thanks, Saved("email", email)])
    try:
        state, effects = engine.step(session.flow, known, user.content, answer)
    except Exception as error:  # noqa: BLE001 - a failing bot hands over instead of going silent
        names = {"workspace_id": session.workspace, "conversation_id": session.conversation_id}
        telemetry.log("bot.failed", level=logging.ERROR, error=error, **names)
        state, effects = known, [Reply(session.flow.failure_text), HandedOff("the bot failed")]
    asked = engine.waiting(session.flow, session.state)
    if isinstance(asked, Ask):
        chosen = inputs.option(asked, user.content)
        content = chosen.label if chosen else user.content
        user = structs.replace(user, content=content, answers=asked.save_to or asked.id)
    return await write(session, state, [*greeting, user, *effects])


async def write(session: VisitorSession, state: State, steps: Sequence[NewMessage | Effect]) -> Taken:
    """Write a turn: its messages, its lead, the new state of the flow, and whether it is over. Raise as `take`."""
    spoken = [_message(step) for step in steps if isinstance(step, NewMessage | Reply)]
    answers = {one.field: one.value for one in steps if isinstance(one, Saved) and one.field}
    person = answers | vouched(state.variables)
    told = Told(session.version, state.variables, _text(person.get("email")), _text(person.get("name")))
    messages = await conversations.add_messages(*session.place, spoken, told)
    after = await _save_answers(session, state, answers, [one for one in steps if isinstance(one, Scored)])
    await consents.record(session, [step for step in steps if isinstance(step, Consented)], after.lead_id)
    await visitor_sessions.save_state(session.conversation_id, state)
    counts.went(session.bot_id, session.state.visited, state.visited)
    status = session.status
    for step in steps:
        if isinstance(step, HandedOff):
            status = "handoff"
            await conversations.hand_off(*session.place, step.reason)
            counts.count(session.bot_id, "handoff")
            messages += await _away_replies(session)
        elif isinstance(step, Ended):
            status = "ended"
            await conversations.end(*session.place, "bot", step.reason)
    return structs.replace(after, status=status, state=state), messages


def _message(step: NewMessage | Reply) -> NewMessage:
    """A message of the bot that repeats the visitor's own words is erased with the lead, as theirs are."""
    if isinstance(step, NewMessage):
        return step
    return NewMessage(role="bot", content=step.text, answers="repeated" if step.personal else None)


async def _away_replies(session: VisitorSession) -> list[StoredMessage]:
    """What the bot says to a visitor who waits while nobody has the inbox open."""
    reachable, _, full = await _contact(session)
    if full or await accounts.agent_online(session.workspace):  # full: that a person was asked for still counts
        return []
    text = session.flow.away_known_text if reachable else session.flow.away_text
    known = hours.variables(session.flow, clock.now())
    if "next_open" in known:
        text = f"{text} {fill(session.flow.back_text, known)}"[:MAX_TEXT]
    return await conversations.add_messages(*session.place, [NewMessage(role="bot", content=text)])


async def _contact(session: VisitorSession) -> tuple[bool, bool, bool]:
    found = await _CONTACT.row(workspace=session.workspace, conversation=session.conversation_id, most=MAX_MESSAGES)
    return (found[0], found[1], found[2]) if found else (True, True, True)


def _address(text: str) -> str | None:
    # Words, not one expression for an address: strangers write this, and it must not take long whatever they write.
    like_one = (word for word in _AROUND.split(text) if word.count("@") == 1 and len(word) <= _LONGEST)
    for word in itertools.islice(like_one, _TRIED):
        try:
            return identity.email(word.rstrip(".!?"))
        except ValueError:
            continue
    return None


async def _save_answers(
    session: VisitorSession, state: State, answers: dict[str, Scalar], scored: Sequence[Scored]
) -> VisitorSession:
    """Save the answers and points of a turn. Return the session with its lead. Raise ConcurrentUpdate.

    A lead of this very conversation is corrected by its later answers and gains its points. A lead that was known
    before only gets its blanks filled and its score raised: a stranger may have typed somebody's address. What the
    website vouches for comes before answers.
    """
    await visitor_sessions.add_scores(session, scored)
    page, person, before = attributes(state.variables), vouched(state.variables), session.state.variables
    answers = {field: value for field, value in answers.items() if field not in person}
    if person != vouched(before):
        answers |= person
    if not (answers or scored or page != attributes(before)):
        return session
    try:
        if await _update_own(session, answers, scored, page):
            return structs.replace(session, has_email=session.has_email or "email" in answers)
        # Everything that the visitor has answered so far, by lead field.
        asks = {one.variable: one.save_to for one in session.flow.nodes if isinstance(one, Ask) and one.save_to}
        known = {field: state.variables[name] for name, field in asks.items() if name in state.variables} | answers
        known |= {field: value for field, value in page.items() if field not in known} | person
        if not known.keys() & {"email", "phone"}:  # a lead is somebody who can be reached
            return session
        lead = await conversations.capture_lead(*session.place, _patch(known, state.score))
    except (NotFound, Conflict, Unavailable) as error:  # the lead was erased, or its address taken, a moment ago
        raise ConcurrentUpdate from error
    if session.lead_id is None:
        counts.captured(session.bot_id, lead, session.conversation_id)
    return structs.replace(session, lead_id=lead.id, has_email=session.has_email or "email" in known)


async def _update_own(
    session: VisitorSession, answers: dict[str, Scalar], scored: Sequence[Scored], page: dict[str, Scalar]
) -> bool:
    """Correct the lead of this conversation. Return False when there is none or it came from another conversation, or
    when the address is another lead's.

    What the page tells replaces what it told before, and nothing that anybody else has said.
    """
    if session.lead_id is None:
        return False
    lead = (await reads.stored(session.workspace, session.lead_id, lock=True)).lead
    if lead.conversation_id != session.conversation_id:
        return False
    email = _text(answers.get("email"))
    if email and await reads.holder_of_email(session.workspace, lead.id, email) not in (None, lead.id):
        return False
    before, present = attributes(session.state.variables), {CUSTOM + k: v for k, v in custom_fields(lead).items()}
    fresh = {k: v for k, v in page.items() if v != before.get(k) and present.get(k, before.get(k)) == before.get(k)}
    patch = _patch(
        answers | {k: v for k, v in fresh.items() if k not in answers},
        lead.score + sum(one.points for one in scored),
        lead,
    )
    await leads.update(session.workspace, lead.id, patch, unchanged={})
    return True


def _patch(answers: dict[str, Scalar], score: int, lead: Lead | None = None) -> LeadPatch:
    """The change of `lead`, or of a new one. Custom fields beyond what a lead may have are left out."""
    plain: dict[str, Any] = {field: value for field, value in answers.items() if not field.startswith(CUSTOM)}
    # Strings only, as the specification shows: clients may type custom_fields so.
    custom = {field.removeprefix(CUSTOM): str(value) for field, value in answers.items() if field.startswith(CUSTOM)}
    if custom:
        present = custom_fields(lead) if lead else {}
        fields = fitting(present, custom)
        plain["custom_fields"] = {key: fields[key] for key in custom if key in fields}
    return LeadPatch(**plain, score=max(0, min(100, score)))


def _text(value: Scalar | None) -> str | None:
    return value if isinstance(value, str) else None
