"""Run a flow: `step` gives state and effects. Pure, but for the time. `visitors/decide.py` plans them."""

from typing import Final

import msgspec
from msgspec import Struct

from leadwire.domain.bots.flow import attachments, hours, inputs
from leadwire.domain.bots.flow.expressions import fill, holds
from leadwire.domain.bots.flow.nodes import Answer, AnyNode, Ask, Branch, End, Flow, Handoff, Say, Scalar, Score
from leadwire.infrastructure import clock

MOST_NODES: Final = 50  # in one turn

WENT_ON: Final = ""
"""In `State.visited`, behind a node that the visitor left for one that is in there already."""
_ASKED_FOR_A_PERSON: Final = "the visitor asked for a person"


class State(Struct, frozen=True, omit_defaults=True):
    """Where a visitor is in a flow."""

    at: str | None = None  # the node that waits for the visitor, or where to go on when a person hands back
    retries: int = 0  # answers to it that did not fit
    turns: int = 0  # questions it has answered
    variables: dict[str, Scalar] = {}
    score: int = 0
    asked: int = 0  # free questions so far: what answers may cost is limited by it
    fired: tuple[str, ...] = ()  # rules that have counted: `node/label`
    visited: tuple[str, ...] = ()  # nodes by first visit, for figures: they went on from all but the last


class Reply(Struct, frozen=True):
    """A message of the bot; `personal` when it repeats what the visitor wrote, as an answer to a question may."""

    text: str
    personal: bool = False


class Saved(Struct, frozen=True):
    """A value for a lead field, or (`field` None) for the flow only."""

    field: str | None
    value: Scalar


class Scored(Struct, frozen=True):
    """Points, and why."""

    node: str
    label: str
    points: int


class Consented(Struct, frozen=True):
    """An answer that gives consent to a text, as the visitor read it, or refuses it."""

    node: str
    text: str
    answer: str
    given: bool


class HandedOff(Struct, frozen=True):
    """A person is needed."""

    reason: str


class Ended(Struct, frozen=True):
    """The flow has come to its end."""

    reason: str


Effect = Reply | Saved | Scored | Consented | HandedOff | Ended


class Prompt(Struct, frozen=True, omit_defaults=True):
    """What the visitor is asked for now: how the widget shapes its field."""

    kind: str
    options: tuple[str, ...] = ()
    placeholder: str | None = None
    field: str | None = None  # the lead field it fills, for autocomplete
    links: dict[str, str] = {}  # options that also open a page: label -> address
    min: str | None = None  # the first date
    max: str | None = None  # the last date


def begin(flow: Flow) -> tuple[State, list[Effect]]:
    """The first turn, before the visitor has said anything: the same for everybody."""
    return enter(flow, State(), flow.start)


def enter(flow: Flow, state: State, node_id: str) -> tuple[State, list[Effect]]:
    """Go on at a node until the visitor's turn or the end."""
    return _Run(flow, state).go(node_id)


def step(flow: Flow, state: State, text: str, answer: str | None = None) -> tuple[State, list[Effect]]:
    """One visitor's turn. `answer` is what is known about a free question. `state.at` must be a node that waits."""
    node, run = flow.node(state.at or flow.start), _Run(flow, state)
    if inputs.asks_for_person(text) and not (isinstance(node, Ask) and inputs.option(node, text)):
        return run.stop(_ASKED_FOR_A_PERSON)
    if isinstance(node, Ask):
        return run.answer(node, text)
    if isinstance(node, Answer):
        return run.look_up(node, text, answer)
    return run.go(node.id)


def ask_for_person(flow: Flow, state: State) -> tuple[State, list[Effect]]:
    """The turn of a visitor who pressed the button for a person."""
    return _Run(flow, state).stop(_ASKED_FOR_A_PERSON)


def waiting(flow: Flow, state: State) -> AnyNode | None:
    """The node that waits for the visitor, if any."""
    return flow.node(state.at) if state.at else None


def prompt(flow: Flow, state: State) -> Prompt | None:
    """What the visitor is asked for, if anything."""
    node = waiting(flow, state)
    if isinstance(node, Ask):
        labels = tuple(option.label for option in node.options)
        links = {option.label: option.url for option in node.options if option.url}
        limits = hours.limits(flow, node) if node.input == "date" else ()
        return Prompt(node.input, labels, node.placeholder, node.save_to, links, *map(str, limits))
    return Prompt("text") if isinstance(node, Answer) else None


def questions(flow: Flow, state: State, text: str) -> bool:
    """Whether what the visitor says next is a free question, to be looked up first."""
    return isinstance(waiting(flow, state), Answer) and not inputs.asks_for_person(text)


class _Run:
    """One turn under way."""

    def __init__(self, flow: Flow, state: State) -> None:
        self._flow = flow
        self._state = state
        self._effects: list[Effect] = []
        self._open = hours.variables(flow, clock.now())

    def answer(self, ask: Ask, text: str) -> tuple[State, list[Effect]]:
        try:
            value = hours.read_date(self._flow, ask, text) if ask.input == "date" else inputs.read(ask, text)
        except ValueError:
            return self._again(ask)
        self._effects.append(Saved(ask.save_to, value))
        chosen = inputs.option(ask, text)
        if chosen and chosen.consent is not None:
            read = attachments.content(fill(ask.text, self._known()), ask)
            self._effects.append(Consented(ask.id, read, chosen.label, chosen.consent))
        about = inputs.about_email(value) if ask.input == "email" and isinstance(value, str) else {}
        self._set(variables={**self._state.variables, ask.variable: value, **about}, retries=0)
        if chosen:
            self._score(ask.id, f"{ask.variable.replace('_', ' ')}: {chosen.label}", chosen.score)
        return self.go((chosen and chosen.next) or ask.next)

    def look_up(self, node: Answer, text: str, answer: str | None) -> tuple[State, list[Effect]]:
        self._set(asked=self._state.asked + 1)
        if inputs.says_done(node, text):
            return self.go(node.next)
        if answer is None:
            return self.go(node.on_fallback) if node.on_fallback else self.stop("a question nobody taught the bot")
        if answer.strip():
            self._effects.append(Reply(answer, personal=True))
        turns = self._state.turns + 1
        if turns >= node.max_turns:
            return self.go(node.next)
        if node.again_text:
            self._reply(node.again_text)
        self._set(turns=turns)
        return self._state, self._effects

    def go(self, node_id: str) -> tuple[State, list[Effect]]:
        self._set(retries=0, turns=0)
        for _ in range(MOST_NODES):
            node = self._flow.node(node_id)
            self._set(at=node.id, visited=self._visited(node.id))
            if (following := self._pass(node)) is None:
                return self._state, self._effects
            node_id = following
        return self.stop("the flow went on for too long")

    def stop(self, reason: str) -> tuple[State, list[Effect]]:
        self._reply(self._flow.handoff_text)
        self._effects.append(HandedOff(reason))
        self._set(visited=self._visited())
        return self._state, self._effects

    def _pass(self, node: AnyNode) -> str | None:
        """Do what a node says. Return the next one, or None to wait or to end."""
        if isinstance(node, Branch):
            return next((case.next for case in node.cases if holds(case.when, self._known())), node.otherwise)
        if isinstance(node, Score):
            for rule in node.rules:
                if holds(rule.when, self._known()):
                    self._score(node.id, rule.label, rule.add)
            return node.next
        if node.text:
            self._reply(node.text, node)
        if isinstance(node, Say):
            return node.next
        if isinstance(node, Handoff):
            self._effects.append(HandedOff(node.reason))
            self._set(at=node.next, visited=self._visited())
        elif isinstance(node, End):
            self._effects.append(Ended(node.reason))
            self._set(at=None, visited=self._visited())
        return None

    def _again(self, ask: Ask) -> tuple[State, list[Effect]]:
        retries = self._state.retries + 1
        if retries > ask.max_retries:
            return self.go(ask.on_fail) if ask.on_fail else self.stop("the visitor could not answer")
        self._reply(ask.retry_text or (f"{ask.text}\nYYYY-MM-DD" if ask.input == "date" else ask.text))
        self._set(retries=retries)
        return self._state, self._effects

    def _score(self, node: str, label: str, points: int) -> None:
        key = f"{node}/{label}"
        if points and key not in self._state.fired:
            self._effects.append(Scored(node, label, points))
            self._set(score=self._state.score + points, fired=(*self._state.fired, key))

    def _reply(self, text: str, node: AnyNode | None = None) -> None:
        filled = fill(text, self._known())
        if filled.strip():
            self._effects.append(Reply(attachments.content(filled, node), personal=filled != text))

    def _visited(self, node_id: str = WENT_ON) -> tuple[str, ...]:
        """What `visited` is at a node; without one, after the last."""
        been = self._state.visited
        if node_id and node_id not in been:
            return (*been, node_id)
        return been if not been or been[-1] in (node_id, WENT_ON) else (*been, WENT_ON)

    def _known(self) -> dict[str, Scalar]:
        return {**self._open, **self._state.variables, "score": self._state.score}

    def _set(self, **changes: object) -> None:
        self._state = msgspec.structs.replace(self._state, **changes)
