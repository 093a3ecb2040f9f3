"""A flow as a graph: which node leads where, and when. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from leadwire.domain.bots.flow import AnyNode, Ask, Branch, Flow

Kind = Literal["next", "if", "fail"]


class Edge(Struct, frozen=True):
    """From one node to another. `fail`: when the visitor's answer does not fit or is not known."""

    start: str
    end: str
    kind: Kind


def edges(flow: Flow) -> list[Edge]:
    """Every way on, in the order of the flow's text, each once."""
    ways = (Edge(node.id, target, _kind(field)) for node in flow.nodes for field, target in targets(node))
    return list(dict.fromkeys(ways))


def targets(node: AnyNode) -> Iterator[tuple[str, str]]:
    """Where a node can lead: (the field that says so, the id it names)."""
    if isinstance(node, Branch):
        yield from ((f"cases/{place}/next", case.next) for place, case in enumerate(node.cases))
        yield "otherwise", node.otherwise
        return
    if isinstance(node, Ask):
        yield from ((f"options/{place}/next", one.next) for place, one in enumerate(node.options) if one.next)
    for field in ("next", "on_fail", "on_fallback"):
        if (target := getattr(node, field, None)) is not None:
            yield field, target


def onward(flow: Flow) -> dict[str, list[str]]:
    """Where each node can lead."""
    return {node.id: [target for _, target in targets(node)] for node in flow.nodes}


def levels(ways: Mapping[str, Sequence[str]], first: Sequence[str]) -> list[list[str]]:
    """What the ways lead to from `first`, each node once: by the number of steps, those of one number in order."""
    found: list[list[str]] = [[*first]]
    seen = set(first)
    while found[-1]:
        following = dict.fromkeys(end for node in found[-1] for end in ways.get(node, ()) if end not in seen)
        seen.update(following)
        found.append(list(following))
    return found[:-1]


def columns(flow: Flow) -> list[list[str]]:
    """The nodes by how many steps they are from the start, those of one column in the order of the text."""
    return levels(onward(flow), [flow.start])


def text_of(node: AnyNode) -> str:
    """What a node is about, in a few words."""
    text = getattr(node, "text", None) or getattr(node, "reason", None)
    return str(text) if text else {"branch": "decides", "score": "adds points"}.get(kind_of(node), "")


def kind_of(node: AnyNode) -> str:
    """A node's type as a flow's text has it."""
    return type(node).__name__.lower()


def _kind(field: str) -> Kind:
    if field.startswith("on_"):
        return "fail"
    return "if" if "/" in field else "next"
