"""What the tables of the flow format's reference must say: the structs of `bots.flow`, their fields in words."""

import inspect
import typing
from types import UnionType
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct

from leadwire.domain.bots.flow import nodes
from leadwire.domain.bots.flow.nodes import AnyNode

_NAMED: Final[list[tuple[Any, str]]] = [
    (nodes.NodeId, "node ID"),
    (nodes.Variable, "variable"),
    (nodes.SaveTo, "field of the lead"),
    (nodes.Label, "one line"),
    (nodes.Address, "address"),
    (nodes.Date, "date"),
    (nodes.Clock, "time"),
    (nodes.Weekday, "weekday"),
    (nodes.Points, "whole number"),
    (nodes.Op, "operator"),
    (nodes.Input, "input"),
    (nodes.Scalar, "these"),
    (AnyNode, "node"),
    (str, "text"),
    (bool, "`true`/`false`"),
    (int, "whole number"),
    (float, "number"),
]


class Field(Struct, frozen=True):
    """A row of a table. `default` is `required`, `none` or a value in TOML's notation."""

    name: str
    type: str
    default: str


class Part(Struct, frozen=True):
    """A table of the reference: the flow itself, a kind of node, or an object inside a node."""

    name: str
    about: str
    fields: list[Field]


def parts() -> tuple[Part, ...]:
    """Return every table: the flow, then the kinds of nodes, then the objects inside nodes."""
    inside = (nodes.Option, nodes.Image, nodes.Link, nodes.Hours, nodes.Case, nodes.Rule, nodes.When)
    models = (nodes.Flow, *typing.get_args(AnyNode), *inside, nodes.Condition)
    return tuple(_part(model) for model in models)


def _part(model: type[Struct]) -> Part:
    fields = [Field(one.name, words(one.type), _default(one)) for one in msgspec.structs.fields(model)]
    return Part(named(model), " ".join(inspect.cleandoc(model.__doc__ or "").split()), fields)


def words(hint: Any) -> str:
    """Return a type in words, with its limits: `list (at most 20) of option`."""
    base, limits = _unwrapped(hint)
    name = next((said for known, said in _NAMED if known in (hint, base)), None)
    if name is None and typing.get_origin(base) in (UnionType, typing.Union):
        members = [one for one in typing.get_args(base) if one is not type(None)]
        if float in members and int in members:
            members.remove(int)  # for people, a whole number is a number
        *first, last = [words(one) for one in members]
        return f"{', '.join(first)} or {last}" if first else last
    if name is None and typing.get_origin(base) is tuple:
        return f"list{limits} of {words(typing.get_args(base)[0])}"
    if name is None and typing.get_origin(base) is typing.Literal:
        return ", ".join(f"`{choice}`" for choice in typing.get_args(base))
    return (name or named(base)) + limits


def _unwrapped(hint: Any) -> tuple[Any, str]:
    """Return a type without its annotations, and its limits in words."""
    if typing.get_origin(hint) is not Annotated:
        return hint, ""
    base, *extra = typing.get_args(hint)
    return base, "".join(_limits(meta, " characters" if base is str else "") for meta in extra)


def _limits(meta: Meta, unit: str) -> str:
    least, most = (meta.ge, meta.le) if meta.ge is not None else (meta.min_length, meta.max_length)
    if most is None:
        return ""
    return f" (at most {most}{unit})" if least is None else f" ({least} to {most}{unit})"


def _default(field: msgspec.structs.FieldInfo) -> str:
    if field.required:
        return "required"
    return "none" if field.default is None else f"`{msgspec.json.encode(field.default).decode()}`"


def named(model: type[Struct]) -> str:
    """Return the name of a struct in the reference: for a node, its `type`."""
    return str(model.__struct_config__.tag or model.__name__.lower())
