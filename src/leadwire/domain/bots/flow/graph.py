"""Where the nodes of a flow lead, as their types say: whatever field is a `NodeId` is a way on. Pure."""

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args

from msgspec import Struct, structs

from leadwire.domain.bots.flow.nodes import Flow, NodeId


def targets(part: Struct, path: str = "") -> Iterator[tuple[str, str]]:
    """Where a node, or a row of it, can lead: (the field that says so, the id it names)."""
    for field, index, row in rows(part):
        yield from targets(row, f"{path}{field}/{index}/")
    for field in fields_of(type(part), NodeId):
        if (target := getattr(part, field)) is not None:
            yield path + field, target


def rows(part: Struct) -> Iterator[tuple[str, int, Struct]]:
    """The rows of the lists in a node: (the list, the place in it, the row)."""
    for field in part.__struct_fields__:
        if isinstance(value := getattr(part, field), tuple):
            yield from ((field, index, row) for index, row in enumerate(value) if isinstance(row, Struct))


@functools.cache
def fields_of(kind: type[Struct], of_type: Any) -> list[str]:
    """The fields of a type, but for the node's own id: first those that have to be there."""
    fields = [field for field in structs.fields(kind) if of_type in (field.type, *get_args(field.type))]
    return [field.name for field in sorted(fields, key=lambda field: not field.required) if field.name != "id"]


def onward(flow: Flow) -> dict[str, list[str]]:
    """Where each node can lead."""
    return {node.id: [target for _, target in targets(node)] for node in flow.nodes}


def in_order(ways: Mapping[str, Sequence[str]], start: str) -> list[str]:
    """What the ways lead to from `start`: a node after all that lead to it, but for ways back."""
    ended: list[str] = []
    seen, open_ = {start}, [(start, reversed(ways.get(start, ())))]
    while open_:
        if (end := next((name for name in open_[-1][1] if name not in seen), None)) is None:
            ended.append(open_.pop()[0])
        else:
            seen.add(end)
            open_.append((end, reversed(ways.get(end, ()))))
    return ended[::-1]


def levels(ways: Mapping[str, Sequence[str]], first: Sequence[str]) -> list[list[str]]:
    """What the ways lead to from `first`, each node once: by the number of steps, those of one number in order."""
    reached: list[list[str]] = [[*first]]
    seen = set(first)
    while reached[-1]:
        following = dict.fromkeys(end for node in reached[-1] for end in ways.get(node, ()) if end not in seen)
        seen.update(following)
        reached.append(list(following))
    return reached[:-1]
