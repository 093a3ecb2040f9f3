"""A visitor's turn decided: what they say becomes a plan of all that is stored and told. Pure, but for time and ids.

First what is heard, then, with what is known of others, the plan. When a person is asked for and nobody has the inbox
open, the bot says so, and asks for an e-mail address.
"""

import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import Struct, structs

from leadwire.domain.bots.flow import engine, hours, inputs
from leadwire.domain.bots.flow.engine import Consented, Effect, Ended, HandedOff, Reply, Saved, Scored, State
from leadwire.domain.bots.flow.expressions import fill
from leadwire.domain.bots.flow.nodes import Ask, Scalar
from leadwire.domain.bots.schema import VisitorSession
from leadwire.domain.bots.visitors.variables import CUSTOM, added, attributes, vouched
from leadwire.domain.conversations import plan as planning
from leadwire.domain.conversations.plan import Plan
from leadwire.domain.conversations.schema import MAX_TEXT, NewMessage, Told
from leadwire.domain.leads import identity
from leadwire.domain.leads.schema import Lead, LeadPatch, StoredLead, custom_fields, fitting

_AROUND: Final = re.compile(r"[\s<>()\[\],;:\"']+")  # what parts an address from the words around it
_LONGEST: Final = 254  # characters of an address
_TRIED: Final = 5  # words of one message


class Heard(Struct, frozen=True):
    """What is said in a turn, and what of it says who the visitor is."""

    session: VisitorSession
    plan: Plan
    """What is planned already: a new conversation, or nothing."""
    state: State
    """Of the flow, after the turn."""
    steps: tuple[NewMessage | Effect, ...]
    answers: dict[str, Scalar]
    """What is new of the visitor, by lead field."""
    tells: bool
    """Whether anything is to be kept of them: answers, points, or what the page tells."""
    patch: LeadPatch | None
    """Everything that they have said of themselves so far; None while they cannot be reached."""
    failure: Exception | None = None
    """Why the bot has failed."""

    @property
    def own(self) -> StoredLead | None:
        """The lead that began in this very conversation."""
        lead = self.plan.known.lead
        return lead if lead and lead.lead.conversation_id == self.session.conversation_id else None

    @property
    def needs_holder(self) -> bool:
        """Whether somebody else may have the address that the visitor gives now. Whom they have become stays so, also
        when the address is corrected by somebody else.
        """
        if not (self.tells and self.patch):
            return False
        lead = self.plan.known.lead
        if lead is None or "email" in self.answers:
            return True
        is_new = lead.lead.email is None if self.patch.email else "phone" in self.answers
        return self.own is None and is_new

    @property
    def needs_person(self) -> bool:
        """Whether a person is asked for."""
        return any(isinstance(step, HandedOff) for step in self.steps)


class TurnPlan(Struct, frozen=True):
    """All that follows from a turn."""

    before: VisitorSession
    after: VisitorSession
    talk: Plan
    scored: tuple[Scored, ...]
    consented: tuple[Consented, ...]


def hear(
    session: VisitorSession,
    plan: Plan,
    user: NewMessage,
    answer: str | None,
    page: Mapping[str, str] | None = None,
    greeting: Sequence[Effect] = (),
) -> Heard:
    """Hear a visitor's message. The greeting's come first. `answer` as for `engine.step`; `page` is what the page tells
    of the visitor.
    """
    before = structs.replace(session.state, variables=added(session.state.variables, page or {}))
    if session.status == "handoff":  # a person answers, not the bot
        email = _address(user.content)
        if email is None or _is_reachable(plan) or plan.row["assigned_to"]:
            return heard(session, plan, before, [user])
        thanks = Reply(session.flow.away_thanks_text)
        return heard(session, plan, before, [structs.replace(user, answers="email"), thanks, Saved("email", email)])
    try:
        state, effects = engine.step(session.flow, before, user.content, answer)
    except Exception as error:  # noqa: BLE001 - a failing bot hands over instead of going silent
        steps = [*greeting, user, Reply(session.flow.failure_text), HandedOff("the bot failed")]
        return structs.replace(heard(session, plan, before, steps), failure=error)
    question = engine.waiting(session.flow, session.state)
    if isinstance(question, Ask):
        chosen = inputs.option(question, user.content)
        content = chosen.label if chosen else user.content
        user = structs.replace(user, content=content, answers=question.save_to or question.id)
    return heard(session, plan, state, [*greeting, user, *effects])


def heard(session: VisitorSession, plan: Plan, state: State, steps: Sequence[NewMessage | Effect]) -> Heard:
    """What the flow says by itself, or to a message."""
    answers = {step.field: step.value for step in steps if isinstance(step, Saved) and step.field}
    page, person, before = attributes(state.variables), vouched(state.variables), session.state.variables
    # What the website vouches for comes before answers.
    answers = {field: value for field, value in answers.items() if field not in person}
    if person != vouched(before):
        answers |= person
    tells = bool(answers) or any(isinstance(step, Scored) for step in steps) or page != attributes(before)
    asks = {node.variable: node.save_to for node in session.flow.nodes if isinstance(node, Ask) and node.save_to}
    # A known lead stays reachable by the address that made the visitor one: no question may have asked for it.
    values: dict[str, Scalar] = {}
    if plan.known.lead and plan.row["visitor_email"]:
        values["email"] = plan.row["visitor_email"]
    values |= {field: state.variables[name] for name, field in asks.items() if name in state.variables} | answers
    values |= {field: value for field, value in page.items() if field not in values} | person
    patch = _patch(values, state.score) if values.keys() & {"email", "phone"} else None
    return Heard(session, plan, state, tuple(steps), answers, tells, patch)


def decide(heard: Heard, holder: StoredLead | None, *, online: bool) -> TurnPlan:
    """Plan a turn. `holder` is who has the address that the visitor gave; `online`, whether somebody has the inbox
    open. Raise as `plan.say`.
    """
    session, state, steps = heard.session, heard.state, heard.steps
    person = {step.field: step.value for step in steps if isinstance(step, Saved) and step.field}
    person |= vouched(state.variables)
    told = Told(state.variables, _text(person.get("email")), _text(person.get("name")))
    said = [message for step in steps for message in _messages(step)]
    plan = planning.say(heard.plan, said, told) if said else heard.plan
    plan = _capture_or_correct(plan, heard, holder)
    for step in steps:
        if isinstance(step, HandedOff) and plan.row["status"] == "active":
            plan = planning.hand_off(plan, step.reason)
            if not online and not planning.is_full(plan):  # full: that a person was asked for still counts
                plan = planning.say(plan, _messages(_away(session, plan)))
        elif isinstance(step, Ended):
            plan = planning.end(plan, "bot", step.reason)
    after = structs.replace(
        session, status=plan.row["status"], state=state, lead_id=plan.row["lead_id"],
        has_email=plan.row["lead_id"] is not None and plan.row["visitor_email"] is not None,
    )  # fmt: skip
    consented = tuple(step for step in steps if isinstance(step, Consented))
    return TurnPlan(session, after, plan, tuple(step for step in steps if isinstance(step, Scored)), consented)


def _capture_or_correct(plan: Plan, heard: Heard, holder: StoredLead | None) -> Plan:
    """Save what is new of the visitor.

    A lead of this very conversation is corrected by its later answers and gains its points. A lead that was known
    before only gets its blanks filled and its score raised: a stranger may have typed somebody's address.
    """
    if not heard.tells:
        return plan
    own = heard.own
    if own and (holder is None or holder.lead.id == own.lead.id):
        return planning.correct(plan, own, _correction(heard, own.lead))
    lead = holder if heard.needs_holder else heard.plan.known.lead
    return planning.capture(plan, heard.patch, lead) if heard.patch else plan


def _correction(heard: Heard, lead: Lead) -> LeadPatch:
    """What the page tells replaces what it told before, and nothing that anybody else has said."""
    before, page = attributes(heard.session.state.variables), attributes(heard.state.variables)
    present = {CUSTOM + name: value for name, value in custom_fields(lead).items()}
    fresh = {k: v for k, v in page.items() if v != before.get(k) and present.get(k, before.get(k)) == before.get(k)}
    was, now = heard.session.state.score, heard.state.score
    # The sum of the points has no limits; what somebody has set instead gains those of this turn.
    score = now if lead.score == _limited(was) else lead.score + now - was
    return _patch(heard.answers | {k: v for k, v in fresh.items() if k not in heard.answers}, score, lead)


def _messages(step: NewMessage | Effect) -> list[NewMessage]:
    """What is said, but for a text that its author has left blank. A message of the bot that repeats the visitor's own
    words is erased with the lead, as theirs are.
    """
    if isinstance(step, Reply) and step.text.strip():
        return [NewMessage(role="bot", content=step.text, answers="repeated" if step.personal else None)]
    return [step] if isinstance(step, NewMessage) else []


def _away(session: VisitorSession, plan: Plan) -> Reply:
    """What the bot says to a visitor who waits while nobody has the inbox open."""
    text = session.flow.away_known_text if _is_reachable(plan) else session.flow.away_text
    variables = hours.variables(session.flow, plan.at)
    if "next_open" in variables:
        text = f"{text} {fill(session.flow.back_text, variables)}"[:MAX_TEXT]
    return Reply(text)


def _is_reachable(plan: Plan) -> bool:
    """Whether the visitor's e-mail address is known."""
    lead = plan.lead or plan.known.lead
    return plan.row["visitor_email"] is not None or (lead is not None and lead.lead.email is not None)


def _address(text: str) -> str | None:
    # Words, not one expression for an address: strangers write this, and it must not take long whatever they write.
    like_one = (word for word in _AROUND.split(text) if word.count("@") == 1 and len(word) <= _LONGEST)
    for word in itertools.islice(like_one, _TRIED):
        try:
            return identity.email(word.rstrip(".!?"))
        except ValueError:
            continue
    return None


def _patch(answers: dict[str, Scalar], score: int, lead: Lead | None = None) -> LeadPatch:
    """The change of `lead`, or of a new one. Custom fields beyond what a lead may have are left out."""
    plain: dict[str, Any] = {field: value for field, value in answers.items() if not field.startswith(CUSTOM)}
    # Strings only, as the specification shows: clients may type custom_fields so.
    custom = {field.removeprefix(CUSTOM): str(value) for field, value in answers.items() if field.startswith(CUSTOM)}
    if custom:
        present = custom_fields(lead) if lead else {}
        fields = fitting(present, custom)
        plain["custom_fields"] = {key: fields[key] for key in custom if key in fields}
    return LeadPatch(**plain, score=_limited(score))


def _limited(points: int) -> int:
    """The score of a lead with so many points."""
    return max(0, min(100, points))


def _text(value: Scalar | None) -> str | None:
    return value if isinstance(value, str) else None
