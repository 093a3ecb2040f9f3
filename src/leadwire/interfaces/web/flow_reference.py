"""The flow format in words, taken from the structs that read it: for the README beside this file and the editor's help.

The fields, their types, limits and docstrings are those of `bots.flow`; what its literals mean is said here. A test
holds the README to it.
"""

import functools
import inspect
import typing
from types import UnionType
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct

from leadwire.domain.bots import flow
from leadwire.domain.bots.flow import AnyNode, Input, Op
from leadwire.interfaces.http.docstrings import docstrings

OPERATORS: Final[dict[Op, str]] = {
    "eq": "is the value: texts without regard to case, and `true` is not `1`",
    "ne": "is not the value, or has not been told",
    "contains": "is a text with the value in it, in any case; the value is a text that is not empty",
    "ends_with": "is a text that ends with the value, in any case; the value is a text that is not empty",
    "gt": "is a number greater than the value, a number",
    "gte": "is a number greater than the value or the same",
    "lt": "is a number less than the value, a number",
    "lte": "is a number less than the value or the same",
    "in": "is one of the values, a list that is not empty, as `eq` would find",
    "is_set": "has been told; takes no value",
    "not_set": "has not been told; takes no value",
}
"""A condition with the operator holds when the variable ..."""

INPUTS: Final[dict[Input, str]] = {
    "text": "anything, on one line",
    "email": "an e-mail address; its domain is kept in lower case",
    "phone": "a phone number; kept as E.164 (`+15550100`) where the country is told",
    "number": "a number such as `12`, `1,200` or `12.5`, from `min` to `max`",
    "url": "a web address; `https://` is put before it where no scheme is",
    "choice": "one of the `options`: its value, its label or its number, in any case",
}
"""Which answers fit an `ask` with the input, and what is kept of them."""

DERIVED: Final = {
    "score": "all points of the conversation so far, a number",
    "email_domain": 'what follows the `@` of the last answer with `input = "email"`, in lower case',
    "email_is_business": "`true` when that domain is none of the well-known free mail services, else `false`",
}
"""Variables that no node sets."""

_NAMED: Final[list[tuple[Any, str]]] = [
    (flow.NodeId, "id of a node"),
    (flow.Variable, "variable"),
    (flow.SaveTo, "field of the lead"),
    (flow.Label, "one line"),
    (flow.Points, "whole number"),
    (flow.Op, "operator"),
    (flow.Input, "input"),
    (flow.Scalar, "these"),
    (AnyNode, "node"),
    (str, "text"),
    (bool, "`true`/`false`"),
    (int, "whole number"),
    (float, "number"),
]


class Field(Struct, frozen=True):
    """One row: `default` is `required`, `none` or a value as TOML has it."""

    name: str
    type: str
    default: str
    about: str


class Part(Struct, frozen=True):
    """A table of the format: the flow itself, a kind of node, or what nodes are made of."""

    name: str
    about: str
    fields: list[Field]


@functools.cache
def parts() -> tuple[Part, ...]:
    """Every table there can be in a flow, the flow first, then the kinds of nodes, then what is in those."""
    inside = (flow.Option, flow.Case, flow.Rule, flow.When, flow.Condition)
    return tuple(_part(model) for model in (flow.Flow, *typing.get_args(AnyNode), *inside))


def _part(model: type[Struct]) -> Part:
    about = docstrings(model)
    fields = [
        Field(one.name, words(one.type), _default(one), about.get(one.name, ""))
        for one in msgspec.structs.fields(model)
    ]
    return Part(named(model), " ".join(inspect.cleandoc(model.__doc__ or "").split()), fields)


def words(hint: Any) -> str:
    """A type as people say it, with its limits: `list (at most 20) of option`."""
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
    """A type without its annotations, and what they say of its limits."""
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
    """What a struct goes by: a node by the `type` that it is written with."""
    return str(model.__struct_config__.tag or model.__name__.lower())
