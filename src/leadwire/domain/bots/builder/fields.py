"""What can be filled in at a step: the fields of the nodes' structs, and what a form says about them. Pure.

A step is a node as plain data, which may lack fields or hold wrong ones while somebody works on it: `parse` says so.
"""

import functools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal, get_args

from msgspec import Struct, inspect

from leadwire.domain.bots.flow.nodes import KINDS, Flow, NodeId, SaveTo, Variable

Kind = Literal[
    "text", "line", "step", "save_to", "variable", "choice", "flag", "number", "value", "lines", "set", "rows", "group",
]  # fmt: skip
Step = dict[str, Any]
"""A node, or an object inside one, as plain data."""
Exit = tuple[str, str | None, bool]
"""A way on: its field, the step that it names, if one, and whether it has to name one."""

_LINE: Final = 500  # characters from which a text is one of several lines
_MOST_ROWS: Final = 1000
_NO_VALUE: Final = ("is_set", "not_set")
_ROW: Final = re.compile(r"(\d{1,3})/")


class Field(Struct, frozen=True):
    """A field of a node, of the flow or of an object inside one."""

    name: str
    kind: Kind
    required: bool = False
    default: Any = None
    choices: tuple[str, ...] = ()
    fields: tuple["Field", ...] = ()
    """Of each of its rows, or of the group."""
    least: int | None = None
    most: int | None = None
    """The most characters, or rows; the greatest number."""


@functools.cache
def of(kind: str) -> tuple[Field, ...]:
    """The fields of a type of node, or with `flow` of the whole flow. None for a type that there is not."""
    model = Flow if kind == "flow" else KINDS.get(kind)
    return _fields(inspect.type_info(model)) if model else ()


def exits(step: Step) -> Iterator[Exit]:
    """Each way on from a step, in the order of its fields, which are called `next` or, in a list, `options/0/next`."""
    return _exits(of(str(step.get("type"))), step, "")


def ways(step: Step) -> dict[str, str | None]:
    """Where each way on from a step leads, by its field."""
    return {way: target for way, target, _ in exits(step)}


def open_end(steps: Sequence[Step]) -> tuple[str, str]:
    """The last step that has to lead on and does not yet, and its way; empty texts without one."""
    ends = ((step["id"], way) for step in reversed(steps) for way, to, needed in exits(step) if needed and not to)
    return next(ends, ("", ""))


def _exits(fields: tuple[Field, ...], values: Step, prefix: str) -> Iterator[Exit]:
    for field in fields:
        value = values.get(field.name)
        if field.kind == "step":
            yield prefix + field.name, value if isinstance(value, str) else None, field.required
        elif field.kind == "rows" and isinstance(value, list):
            for index, row in enumerate(value):
                if isinstance(row, dict):
                    yield from _exits(field.fields, row, f"{prefix}{field.name}/{index}/")


def list_at(fields: tuple[Field, ...], path: str) -> Field | None:
    """The list of rows that a path such as `cases/0/when/all` names, if it names one."""
    name, _, rest = path.partition("/")
    field = next((field for field in fields if field.name == name), None)
    if field is None or not rest:
        return field if field and field.kind == "rows" else None
    index, _, inside = rest.partition("/")
    return list_at(field.fields, inside if field.kind == "rows" and index.isdecimal() else rest)


def at(step: Step, path: str, *, make: bool = False) -> tuple[Any, str]:
    """The object inside a step that has the last part of a path, and that part. With `make`, objects that are missing
    on the way are made. Raise KeyError when there is none.
    """
    inside: Any = step
    *before, last = path.split("/")
    for part in before:
        # A place among rows is short: Python reads no number of thousands of digits.
        if isinstance(inside, list) and part.isdecimal() and len(part) <= 6 and int(part) < len(inside):
            inside = inside[int(part)]
        elif isinstance(inside, dict) and (make or part in inside):
            inside = inside.setdefault(part, {})
        else:
            raise KeyError(path)
    return inside, last


def rows(value: Any) -> list[Step]:
    """The rows of a list in a draft, where anything may stand in place of the list and of each."""
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def lead(step: Step, way: str, target: str | None) -> None:
    """Let a way on from a step lead to another step, or nowhere. Raise KeyError when there is no such way."""
    inside, name = at(step, way)
    if target:
        inside[name] = target
    else:
        inside.pop(name, None)


def filled(fields: tuple[Field, ...], old: Step, values: Mapping[str, str], prefix: str = "") -> Step:
    """An object with what a form says; what the form does not name stays. Empty fields are removed.

    A value that is not of its field's type is kept as a text, so that nothing typed is lost.
    """
    new = dict(old)
    for field in fields:
        path, before = prefix + field.name, old.get(field.name)
        value: Any = before
        if field.kind == "rows":
            value = _rows(field, before if isinstance(before, list) else [], values, path)
        elif field.kind == "group":
            if any(name.startswith(f"{path}/") for name in values):
                value = filled(field.fields, before if isinstance(before, dict) else {}, values, f"{path}/")
        elif path in values:
            value = _value(field, values[path].replace("\r\n", "\n"), before)
        if value in (None, "", [], {}) or (value == field.default and field.name not in old):
            new.pop(field.name, None)
        else:
            new[field.name] = value
    if new.get("op") in _NO_VALUE and any(field.kind == "value" for field in fields):
        new.pop("value", None)
    return new


def _rows(field: Field, before: list[Any], values: Mapping[str, str], path: str) -> list[Any]:
    matches = (_ROW.match(name, len(path) + 1) for name in values if name.startswith(f"{path}/"))
    places = sorted({int(match[1]) for match in matches if match})[:_MOST_ROWS]
    if not places:
        return before
    olds = {index: row for index, row in enumerate(before) if isinstance(row, dict)}
    return [filled(field.fields, olds.get(index, {}), values, f"{path}/{index}/") for index in places]


def _value(field: Field, text: str, before: Any) -> Any:
    if text.strip() == shown(before).strip():
        return before  # with its type
    if field.kind in ("lines", "set"):
        return [line.strip() for line in text.split("\n") if line.strip()]
    stripped = text.strip()
    if field.kind == "number":
        return number(stripped)
    if field.kind == "flag":
        return {"true": True, "false": False}.get(stripped)
    return stripped


def number(text: str) -> int | float | str:
    """The number that a text is, or else the text."""
    try:
        value = float(text)
    except ValueError:
        return text
    if not math.isfinite(value) or not text.isascii():
        return text
    return int(value) if value.is_integer() and "e" not in text.lower() else value


def shown(value: Any) -> str:
    """A value as it stands in a form's field."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "\n".join(shown(part) for part in value) if isinstance(value, list) else str(value)


def _fields(model: Any) -> tuple[Field, ...]:
    return tuple(_field(field) for field in model.fields if field.name not in ("id", "nodes", "format"))


def _field(field: inspect.Field) -> Field:  # noqa: C901, PLR0911 - one line a type
    name, required, kind = field.name, field.required, field.type
    default = field.default if isinstance(field.default, str | int | float) else None
    if isinstance(kind, inspect.UnionType):
        types = [part for part in kind.types if not isinstance(part, inspect.NoneType)]
        if len(types) > 1:
            return Field(name, "value", required, default)
        kind = types[0]
    if isinstance(kind, inspect.Metadata):
        kind = kind.type
    match kind:
        case inspect.StrType():
            by_pattern = _PATTERNS.get(kind.pattern or "")
            return Field(name, by_pattern or _text(kind), required, default, most=kind.max_length)
        case inspect.LiteralType():
            return Field(name, "choice", required, default, tuple(map(str, kind.values)))
        case inspect.BoolType():
            return Field(name, "flag", required, default)
        case inspect.IntType():
            return Field(name, "number", required, default, least=kind.ge, most=kind.le)
        case inspect.FloatType():
            return Field(name, "number", required, default)
        case inspect.VarTupleType(item_type=inspect.StructType() as row):
            return Field(name, "rows", required, fields=_fields(row), most=kind.max_length)
        case inspect.VarTupleType(item_type=inspect.LiteralType() as literal):
            return Field(name, "set", required, choices=tuple(map(str, literal.values)))
        case inspect.VarTupleType():
            return Field(name, "lines", required, most=kind.max_length)
        case inspect.StructType():
            return Field(name, "group", required, fields=_fields(kind))
    return Field(name, "line", required, default)


def _text(kind: inspect.StrType) -> Literal["text", "line"]:
    """An address is long as well, but has no lines, and so no pattern that allows them."""
    return "text" if kind.pattern and (kind.max_length or 0) >= _LINE else "line"


_BY_TYPE: Final[tuple[tuple[Any, Kind], ...]] = ((NodeId, "step"), (Variable, "variable"), (SaveTo, "save_to"))
_PATTERNS: Final = {get_args(one)[1].pattern: kind for one, kind in _BY_TYPE}
