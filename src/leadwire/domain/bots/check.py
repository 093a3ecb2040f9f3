"""What is wrong with a flow although each of its nodes is well formed. Pure; every fault names its node.

Called when a draft is saved or published, never when a flow runs: rules may become stricter, published flows stay.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, get_args

import msgspec

from leadwire.domain.bots.expressions import DERIVED, names_in
from leadwire.domain.bots.flow import INPUTS, Ask, Branch, Case, Condition, End, Flow, Handoff, Order, Rule, Score
from leadwire.domain.bots.graph import targets
from leadwire.domain.leads.schema import MAX_CUSTOM_FIELDS


class FlowError(msgspec.Struct, frozen=True, omit_defaults=True):
    """One fault: what, at which node, and in which line of the text it was read from."""

    code: str
    message: str
    path: tuple[str | int, ...] = ()
    node: str | None = None
    line: int | None = None

    def __str__(self) -> str:
        places = [f"line {self.line}"] if self.line else []
        places += [f"node '{self.node}'"] if self.node else []
        return f"{', '.join(places)}: {self.message}" if places else self.message


_ORDERED: Final = get_args(Order)


def errors_of(flow: Flow) -> list[FlowError]:
    """Every fault of a flow, in the order of its nodes."""
    found = [*_ids(flow), *_custom_fields(flow), *_fields(flow), *_conditions(flow), *_texts(flow)]
    if not found:  # a graph with holes has no shape to speak of
        found = [*_unreachable(flow), *_cycles(flow), *_mute(flow)]
    return sorted(found, key=lambda flaw: flaw.path[1] if len(flaw.path) > 1 else -1)


def _at(flow: Flow, place: int, code: str, message: str, *path: str | int) -> FlowError:
    return FlowError(code, message, ("nodes", place, *path), flow.nodes[place].id)


def _ids(flow: Flow) -> Iterator[FlowError]:
    known: set[str] = set()
    for place, node in enumerate(flow.nodes):
        if node.id in known:
            yield _at(flow, place, "duplicate_id", "Another node has this id already.", "id")
        known.add(node.id)
    if flow.start not in known:
        yield FlowError("unknown_node", f"The flow starts at '{flow.start}', which is no node.", ("start",))
    for place, node in enumerate(flow.nodes):
        for field, target in targets(node):
            if target not in known:
                yield _at(flow, place, "unknown_node", f"{field} leads to '{target}', which is no node.", field)


def _custom_fields(flow: Flow) -> Iterator[FlowError]:
    fields = {node.save_to for node in flow.nodes if isinstance(node, Ask) and node.save_to}
    if sum(name.startswith("custom_fields.") for name in fields) > MAX_CUSTOM_FIELDS:
        yield FlowError("too_many", f"A lead has at most {MAX_CUSTOM_FIELDS} custom fields.", ("nodes",))


def _fields(flow: Flow) -> Iterator[FlowError]:
    for place, node in enumerate(flow.nodes):
        if not isinstance(node, Ask):
            continue
        if (node.input == "choice") != bool(node.options):
            wrong = "A choice needs options." if node.input == "choice" else "Options are for input = 'choice' only."
            yield _at(flow, place, "options", wrong, "options" if node.options else "input")
        values = [option.value_or_label.casefold() for option in node.options]
        labels = [option.label.casefold() for option in node.options]
        if len(set(values)) < len(values) or len(set(labels)) < len(labels):
            yield _at(flow, place, "options", "Two options are the same.", "options")
        if node.save_to in ("email", "phone") and node.input != node.save_to:
            message = f"What is saved to {node.save_to} must be asked with input = '{node.save_to}'."
            yield _at(flow, place, "save_to", message, "save_to")
        if node.save_to in ("name", "company") and node.input not in ("text", "choice"):
            yield _at(flow, place, "save_to", f"A {node.save_to} is a text, not a {node.input}.", "save_to")
        if (node.min is not None or node.max is not None) and node.input != "number":
            field = "min" if node.min is not None else "max"
            yield _at(flow, place, "range", "min and max are for input = 'number' only.", field)
        if node.min is not None and node.max is not None and not node.min <= node.max:
            yield _at(flow, place, "range", "No number fits: min is greater than max.", "min")


def _conditions(flow: Flow) -> Iterator[FlowError]:
    known = _variables(flow)
    for place, node in enumerate(flow.nodes):
        field = "cases" if isinstance(node, Branch) else "rules"
        parts: Sequence[Case | Rule] = getattr(node, field, ())
        for number, part in enumerate(parts):
            conditions = (*part.when.all, *part.when.any)
            if not conditions:
                yield _at(flow, place, "condition", "A condition without all and any never holds.", field, number)
            for condition in conditions:
                if wrong := _wrong(condition, known):
                    yield _at(flow, place, "condition", wrong, field, number)
        labels = [rule.label for rule in node.rules] if isinstance(node, Score) else []
        if len(set(labels)) < len(labels):
            yield _at(flow, place, "duplicate_label", "Two rules have the same label.", "rules")


def _wrong(condition: Condition, known: set[str]) -> str:
    if condition.var not in known:
        return f"No node sets '{condition.var}'. There are: {', '.join(sorted(known))}."
    value, needs_none = condition.value, condition.op in ("is_set", "not_set")
    if needs_none != (value is None):
        return f"{condition.op} takes no value." if needs_none else f"{condition.op} needs a value."
    if (condition.op == "in") != isinstance(value, tuple):
        return f"{condition.op} takes {'a list' if condition.op == 'in' else 'one value'}."
    if condition.op in _ORDERED and not _is_number(value):
        return f"{condition.op} compares numbers."
    if condition.op in ("contains", "ends_with") and not (isinstance(value, str) and value):
        return f"{condition.op} takes a text that is not empty."
    return "in takes a list that is not empty." if value == () else ""


def _is_number(value: object) -> bool:
    """Neither `true`, which compares as 1, nor `nan`, which is in no order with anything."""
    return isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value)


def _texts(flow: Flow) -> Iterator[FlowError]:
    known = _variables(flow)
    for place, node in enumerate(flow.nodes):
        for field in ("text", "retry_text", "again_text"):
            for name in names_in(getattr(node, field, None) or ""):
                if name not in known:
                    message = f"No node sets '{name}'. There are: {', '.join(sorted(known))}."
                    yield _at(flow, place, "unknown_variable", message, field)


def _variables(flow: Flow) -> set[str]:
    return {node.variable for node in flow.nodes if isinstance(node, Ask)} | DERIVED


def _unreachable(flow: Flow) -> Iterator[FlowError]:
    reached = _reached({node.id: [target for _, target in targets(node)] for node in flow.nodes}, [flow.start])
    for place, node in enumerate(flow.nodes):
        if node.id not in reached:
            yield _at(flow, place, "unreachable", "Nothing leads here.", "id")


def _silent(flow: Flow) -> dict[str, list[str]]:
    """Where each node that does not wait for the visitor leads."""
    return {node.id: [t for _, t in targets(node)] for node in flow.nodes if not isinstance(node, (*INPUTS, Handoff))}


def _cycles(flow: Flow) -> Iterator[FlowError]:
    """Nodes that lead back to themselves without the visitor: peel off, from the ends, all that do not."""
    left = _silent(flow)
    while done := {name for name, after in left.items() if not any(target in left for target in after)}:
        left = {name: after for name, after in left.items() if name not in done}
    for place, node in enumerate(flow.nodes):  # in the order people read
        if node.id in left and node.id in _reached(left, left[node.id]):
            circle = "This goes round in a circle without asking the visitor anything."
            yield _at(flow, place, "cycle", circle, "id")


def _mute(flow: Flow) -> Iterator[FlowError]:
    """A conversation begins with the visitor's first words: the flow has to let them come."""
    reached = _reached(_silent(flow), [flow.start])
    for place, node in enumerate(flow.nodes):
        if node.id in reached and isinstance(node, End | Handoff):
            yield _at(flow, place, "mute", "The visitor gets here before being asked anything.", "id")


def _reached(onward: Mapping[str, Sequence[str]], first: Sequence[str]) -> set[str]:
    """The nodes that the ways of `onward` lead to from `first`, and those of `first`."""
    seen, ahead = set(first), list(first)
    while ahead:
        new = set(onward.get(ahead.pop(), ())) - seen
        seen |= new
        ahead += new
    return seen
