"""Whether data are nodes at all, each member by itself, so that no fault hides another. Pure."""

import functools
from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec import inspect

from leadwire.domain.bots.flow.check import FlowError, errors_of
from leadwire.domain.bots.flow.nodes import KINDS, MAX_NODES, Flow

_Path = tuple[str | int, ...]
_BY_INPUT: Final = ("input", "options", "save_to", "min", "max", "earliest", "latest")
"""Members of a question that are right or wrong with its kind of answer."""


def faults(raw: dict[str, Any]) -> list[FlowError]:
    """What keeps it from being nodes at all, each node by itself so that none hides another's faults."""
    nodes = raw.get("nodes")
    flaws = _members(raw, Flow, (), None, "nodes")
    if not isinstance(nodes, list) or not 1 <= len(nodes) <= MAX_NODES:
        return [*flaws, FlowError("nodes", f"There must be 1 to {MAX_NODES} nodes.", ("nodes",))]
    for index, node in enumerate(nodes):
        flaws += _node_flaws(node, index)
    return flaws


def _node_flaws(node: Any, index: int) -> list[FlowError]:
    path = ("nodes", index)
    if not isinstance(node, Mapping):
        return [FlowError("wrong_type", "A node is a table.", path)]
    name, kind = (text if isinstance(text := node.get(key), str) else None for key in ("id", "type"))
    if (model := KINDS.get(kind or "")) is None:
        problem = f"'{node['type']}' is no type of node" if "type" in node else "The type is missing"
        return [FlowError("type", f"{problem}. There are: {', '.join(KINDS)}.", (*path, "type"), name)]
    return _members(node, model, path, name, "type")


def _members(raw: Mapping[str, Any], model: Any, path: _Path, node: str | None, skip: str = "") -> list[FlowError]:
    """Every member of a table that is unknown, missing or not of its type, but for the member `skip`."""
    fields = {field.name: field for field in msgspec.structs.fields(model) if field.name != skip}
    members = [
        FlowError("unknown_field", f"No such field: '{key}'. There are: {', '.join(fields)}.", (*path, key), node)
        for key in raw
        if key not in fields and key != skip
    ]
    for key, field in fields.items():
        if key in raw:
            members += _value(raw[key], field.type, (*path, key), node)
        elif field.required:
            members.append(FlowError("missing_field", f"'{_named((*path, key))}' is missing.", (*path, key), node))
    return members


def _value(raw: Any, kind: Any, path: _Path, node: str | None) -> list[FlowError]:
    """Every fault of a value that should be of a type, each with the path to it."""
    try:
        msgspec.convert(raw, kind)
    except msgspec.ValidationError as error:
        told, _, inside = str(error).partition(" - at `$")
    else:
        return []
    model = inspect.type_info(kind)
    for member in model.types if isinstance(model, inspect.UnionType) else (model,):
        shape = member.type if isinstance(member, inspect.Metadata) else member
        if isinstance(shape, inspect.StructType) and isinstance(raw, Mapping):
            return _members(raw, shape.cls, path, node)
        if isinstance(shape, inspect.VarTupleType) and isinstance(shape.item_type, inspect.StructType) and inside:
            row = shape.item_type.cls
            return [flaw for index, each in enumerate(raw) for flaw in _value(each, row, (*path, index), node)]
        if isinstance(shape, inspect.VarTupleType) and inside:
            shape = shape.item_type
        if isinstance(shape, inspect.LiteralType):
            told += f". There are: {', '.join(str(value) for value in shape.values)}"
    return [FlowError("wrong_value", f"{_named(path)}{inside.rstrip('`')}: {told}.", path, node)]


def _named(path: _Path) -> str:
    """A path inside a node as people write it, such as `cases[0].when`."""
    inside = path[2:] if path[0] == "nodes" else path
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in inside).removeprefix(".")


def others(raw: dict[str, Any], flaws: list[FlowError]) -> list[FlowError]:
    """What else is wrong with data with these faults of shape: whatever is well formed is checked as a flow is.

    A stand-in takes the place of a member that is not. It leads nowhere, so the graph is not looked at.
    """
    told = {_member(flaw.path) for flaw in flaws}
    if ("nodes",) in told:
        return []
    head = {name: value for name, value in raw.items() if (name,) not in told}
    nodes = [_completed(node, index, told) for index, node in enumerate(raw["nodes"])]
    flow = msgspec.convert({"format": 1, "start": "start", **head, "nodes": nodes}, Flow)
    told |= {(*path[:2], name) for path in told if path[2:] in (("input",), ("options",)) for name in _BY_INPUT}
    return [flaw for flaw in errors_of(flow) if not told.intersection(_around(flaw.path))]


def _member(path: _Path) -> _Path:
    """The member of the flow, or of one of its nodes, that a path leads into."""
    return path[:3] if path[0] == "nodes" else path[:1]


def _around(path: _Path) -> tuple[_Path, ...]:
    """What hides the faults at a path when it has one itself."""
    return _member(path), path[:2], (*path[:2], "type")


def _completed(node: Any, index: int, told: set[_Path]) -> dict[str, Any]:
    """A node without the members that have faults, and with others where it needs them."""
    path = ("nodes", index)
    whole = isinstance(node, Mapping) and (*path, "type") not in told
    kept = {key: value for key, value in node.items() if (*path, key) not in told} if whole else {"type": "say"}
    return _blank(kept["type"]) | {"id": f"node-{index}"} | kept


@functools.cache
def _blank(kind: str) -> dict[str, Any]:
    """A stand-in for each member that nodes of a type need."""
    return _stand_in(inspect.type_info(KINDS[kind]))  # type: ignore[no-any-return]


def _stand_in(kind: inspect.Type) -> Any:
    """A value of a type. As a node's ID it leads nowhere."""
    if isinstance(kind, inspect.StructType):
        return {field.name: _stand_in(field.type) for field in kind.fields if field.required}
    if isinstance(kind, inspect.VarTupleType):
        return [_stand_in(kind.item_type)] * max(1, kind.min_length or 0)
    if isinstance(kind, inspect.UnionType):
        return _stand_in(kind.types[0])
    if isinstance(kind, inspect.LiteralType):
        return kind.values[0]
    if isinstance(kind, inspect.IntType | inspect.FloatType):
        return kind.ge or 0
    return False if isinstance(kind, inspect.BoolType) else "nowhere"
