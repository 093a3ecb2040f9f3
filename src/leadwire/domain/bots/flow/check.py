"""What is wrong with a flow although each of its nodes is well formed. Pure.

Called when a draft is saved or published, never when a flow runs: rules may become stricter, published flows stay.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Final

import msgspec

from leadwire.domain.bots.flow import attachments, comparisons, graph, hours
from leadwire.domain.bots.flow.comparisons import Values
from leadwire.domain.bots.flow.expressions import OF_HOURS, names_in, normal
from leadwire.domain.bots.flow.nodes import INPUTS, AnyNode, Ask, End, Flow, Handoff, Say, Score, Text
from leadwire.domain.leads.schema import MAX_CUSTOM_FIELDS, TEXTS


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


_Fault = tuple[str, str, *tuple[str | int, ...]]
"""A fault of a node: its code, its message, and the path to it inside the node."""

_GRAPH: Final = {
    "unreachable": "Nothing leads here.",
    "cycle": "This goes round in a circle without asking the visitor anything.",
    "mute": "The visitor gets here before being asked anything.",
}


def errors_of(flow: Flow) -> list[FlowError]:
    """Every fault of a flow: of the whole, then of each node in their order."""
    variables = comparisons.variables(flow)
    flaws = list(_whole(flow, variables))
    places = {node.id: index for index, node in reversed(list(enumerate(flow.nodes)))}
    for index, node in enumerate(flow.nodes):
        faults = [*_links(node, places), *_input(node), *_conditions(node, variables), *_texts(node, variables)]
        faults += _addresses(node)
        if places[node.id] != index:
            faults.insert(0, ("duplicate_id", "Another step has this name already.", "id"))
        flaws += (FlowError(code, text, ("nodes", index, *_steps(*path)), node.id) for code, text, *path in faults)
    if flaws:  # a graph with holes has no shape to speak of
        return flaws
    shape = _shape(flow)
    return [
        FlowError(code, message, ("nodes", index, "id"), node.id)
        for index, node in enumerate(flow.nodes)
        for code, message in _GRAPH.items()
        if node.id in shape[code]
    ]


def _whole(flow: Flow, variables: Collection[str]) -> Iterator[FlowError]:
    if all(node.id != flow.start for node in flow.nodes):
        yield FlowError("unknown_node", f"It starts at a step that is not there: '{flow.start}'.", ("start",))
    for path, wrong in hours.faults(flow):
        yield FlowError(path.partition("/")[0], wrong, _steps(path))
    for field, usable in (("handoff_text", variables), ("back_text", OF_HOURS)):
        for name in dict.fromkeys(names_in(getattr(flow, field))):
            if name not in usable:
                yield FlowError("unknown_variable", _unset(name, usable), (field,))
    fields = {node.save_to for node in flow.nodes if isinstance(node, Ask) and node.save_to}
    if sum(name.startswith("custom_fields.") for name in fields) > MAX_CUSTOM_FIELDS:
        yield FlowError("too_many", f"A lead has at most {MAX_CUSTOM_FIELDS} custom fields.", ("nodes",))
    for name in sorted(fields):
        if f"custom_fields.{name}" in fields:
            yield FlowError("save_to", f"{name} and custom_fields.{name} would be the same variable.", ("nodes",))


def _steps(*path: str | int) -> tuple[str | int, ...]:
    """A path with each name and each place by itself. Here alone: names in a draft may have slashes and digits."""
    parts = [part for step in path for part in str(step).split("/")]
    return tuple(int(part) if part.isdecimal() else part for part in parts)


def _links(node: AnyNode, ids: Collection[str]) -> Iterator[_Fault]:
    for field, target in graph.targets(node):
        if target not in ids:
            yield "unknown_node", f"This leads to a step that is not there: '{target}'.", field


def _input(node: AnyNode) -> Iterator[_Fault]:
    if not isinstance(node, Ask):
        return
    if (node.input == "choice") != bool(node.options):
        wrong = (
            "Add an answer to choose from." if node.input == "choice" else "Answers to choose from are for a choice."
        )
        yield "options", wrong, "options" if node.options else "input"
    values = {normal(option.value_or_label) for option in node.options}
    labels = {normal(option.label) for option in node.options}
    if min(len(values), len(labels)) < len(node.options):
        yield "options", "Two answers are the same.", "options"
    if node.save_to in ("email", "phone") and node.input != node.save_to:
        yield "save_to", f"Only an answer of the kind {node.save_to} can be saved as {node.save_to}.", "save_to"
    elif node.save_to in TEXTS and node.input not in (node.save_to, "text", "choice"):
        yield "save_to", f"A {node.save_to} is a text, not a {node.input}.", "save_to"
    if (node.min is not None or node.max is not None) and node.input != "number":
        bound = "max" if node.min is None else "min"
        yield "range", "A smallest and a largest number are for a number only.", bound
    if node.min is not None and node.max is not None and not node.min <= node.max:
        yield "range", "No number fits: the smallest is greater than the largest.", "min"
    limit = "latest" if node.earliest is None else "earliest"
    if (node.earliest or node.latest) and node.input != "date":
        yield "range", "A first and a last date are for a date only.", limit
    for wrong in hours.date_faults(node.earliest, node.latest):
        yield "date", wrong, limit


def _addresses(node: AnyNode) -> Iterator[_Fault]:
    if not isinstance(node, Say | Ask | End):
        return
    if isinstance(node, End) and node.text is None and (node.image or node.links):
        yield "text", "An image or a link needs a text.", "image" if node.image else "links"
    named = [("image/url", node.image.url)] if node.image else []
    named += [(f"links/{index}/url", link.url) for index, link in enumerate(node.links)]
    named += [
        (f"options/{index}/url", option.url) for index, option in enumerate(getattr(node, "options", ())) if option.url
    ]
    consents = isinstance(node, Ask) and node.asks_consent
    for field, address in named:
        if wrong := attachments.fault(address):
            yield "address", wrong, field
        elif consents and field.startswith("links") and attachments.is_placeholder(address):
            yield "address", "Enter the address of your own privacy page.", field


def _conditions(node: AnyNode, variables: Mapping[str, Values]) -> Iterator[_Fault]:
    for field, number, part in graph.rows(node):
        if (when := getattr(part, "when", None)) is None:
            continue
        conditions = [
            (name, index, condition) for name in ("all", "any") for index, condition in enumerate(getattr(when, name))
        ]
        if not conditions:
            yield "condition", "Add a condition: without one this is never true.", field, number, "when"
        for name, index, condition in conditions:
            if condition.var not in variables:
                yield "condition", _unset(condition.var, variables), field, number, "when", name, index, "var"
            elif wrong := comparisons.fault(condition, variables[condition.var]):
                yield "condition", wrong, field, number, "when", name, index, "value"
    if isinstance(node, Score) and len({rule.label for rule in node.rules}) < len(node.rules):
        yield "duplicate_label", "Two rules have the same reason.", "rules"


def _texts(node: AnyNode, variables: Collection[str]) -> Iterator[_Fault]:
    for field in graph.fields_of(type(node), Text):
        for name in names_in(getattr(node, field) or ""):
            if name not in variables:
                yield "unknown_variable", _unset(name, variables), field


def _unset(name: str, variables: Collection[str]) -> str:
    return f"No question is saved as '{name}'. You can use: {', '.join(sorted(variables))}."


def _shape(flow: Flow) -> dict[str, set[str]]:
    """The nodes with each of the faults in `_GRAPH`."""
    ways = graph.onward(flow)
    # Of the nodes that do not wait for the visitor.
    silent = {node.id: ways[node.id] for node in flow.nodes if not isinstance(node, (*INPUTS, Handoff))}
    at_once = _reached(silent, [flow.start])
    left = silent
    while done := {name for name, ends in left.items() if not any(end in left for end in ends)}:  # peel the ends off
        left = {name: ends for name, ends in left.items() if name not in done}
    return {
        "unreachable": ways.keys() - _reached(ways, [flow.start]),
        "cycle": {name for name, ends in left.items() if name in _reached(left, ends)},
        # A conversation begins with the visitor's first words: the flow has to let them come.
        "mute": {node.id for node in flow.nodes if isinstance(node, End | Handoff) and node.id in at_once},
    }


def _reached(ways: dict[str, list[str]], first: list[str]) -> set[str]:
    return set().union(*graph.levels(ways, first))
