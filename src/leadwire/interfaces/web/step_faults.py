"""What is wrong with a draft, in the words of the builder: each fault at its field, never in the words of the text."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from leadwire.domain.bots.builder import fields
from leadwire.domain.bots.flow.check import FlowError
from leadwire.interfaces.web import step_labels

_MISSING: Final[Mapping[str, str]] = {
    "step": "Choose a step.",
    "choice": "Choose one.",
    "variable": "Choose one.",
    "flag": "Choose one.",
    "save_to": "Choose one, or name a field of your own.",
    "rows": "Add at least one.",
    "set": "Choose at least one.",
    "group": "Add a condition.",
    "lines": "One of the lines is too long.",
}
_PLAIN: Final = str | int | float
_SHAPES: Final[Mapping[str, Any]] = {"rows": list, "lines": list, "set": list, "group": dict}
_OF_TEXT: Final = ("syntax", "too_long", "too_deep", "nodes", "type", "wrong_type", "unknown_field")
"""Codes of faults that no form can make."""


class Fault(Struct, frozen=True):
    """What is wrong at a field."""

    step: str
    """The id of the step; empty for the whole flow."""
    path: str
    """Of the field in the form, such as `options/0/label`."""
    place: str
    """What the field is called, and what it is in."""
    said: str
    lacks: bool
    """Whether something is only not there yet: told once the field was left, or publishing was tried."""


def faults(flaws: Sequence[FlowError], draft: fields.Step, steps: Mapping[str, fields.Step]) -> list[Fault]:
    """The faults of a draft, and of its steps by their ids."""
    return [_fault(flaw, draft if flaw.path[:1] != ("nodes",) else steps.get(flaw.node or "")) for flaw in flaws]


def _fault(flaw: FlowError, values: fields.Step | None) -> Fault:
    step, parts = (flaw.node, flaw.path[2:]) if values and flaw.node else ("", flaw.path)
    path = "/".join(map(str, parts))
    field, label = _place(parts, str(values.get("type")) if values and step else "flow")
    value = _value(values or {}, path)
    return Fault(step, path, label, _said(flaw, field, value), value is None or path == "id")


def _place(path: Sequence[str | int], kind: str) -> tuple[fields.Field | None, str]:
    """The field at a path, and what people call the way there."""
    field, members, inside, names = None, fields.of(kind), kind, [""]
    for part in path:
        if isinstance(part, int) and field:
            names[-1] = f"{step_labels.one(field).capitalize()} {part + 1}"
        elif field := next((member for member in members if member.name == part), None):
            names.append(step_labels.label(field, inside))
            members, inside = field.fields, field.name
    return field, ", ".join(names[1:])


def _value(values: fields.Step, path: str) -> Any:
    try:
        inside, name = fields.at(values, path)
        return inside[int(name)] if isinstance(inside, list) else inside.get(name)
    except (KeyError, ValueError, IndexError, AttributeError):
        return None


def _said(flaw: FlowError, field: fields.Field | None, value: Any) -> str:
    if flaw.code == "unreachable":
        return "No step leads here yet. Open the step before it, and choose this one under “Then”."
    if flaw.code not in ("missing_field", "wrong_value", *_OF_TEXT):
        return flaw.message
    if field is None or flaw.code in _OF_TEXT or not isinstance(value, _SHAPES.get(field.kind, _PLAIN) | None):
        return f"{f'Line {flaw.line} of the text' if flaw.line else 'The text'} is not understood. Correct it as text."
    return _wanted(field, value)


def _wanted(field: fields.Field, value: Any) -> str:
    if field.kind == "number":
        return f"Enter a whole number from {field.least} to {field.most}." if field.most else "Enter a number."
    if isinstance(value, list) and field.most and len(value) > field.most:
        return f"At most {field.most}."
    if isinstance(value, str) and value and field.kind in ("text", "line", "value"):
        most = field.most or _LONGEST
        return f"At most {most} characters." if len(value) > most else "Only letters, digits and signs, please."
    return _MISSING.get(field.kind, "Fill this in.")


_LONGEST: Final = 500  # characters of what is compared with
