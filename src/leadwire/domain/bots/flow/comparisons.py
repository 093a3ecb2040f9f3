"""Whether a condition can ever be true: what its variable can be, and what it is compared with. Pure."""

import math
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from leadwire.domain.bots.flow.expressions import DERIVED, ORDERS, normal
from leadwire.domain.bots.flow.nodes import Ask, Condition, Flow

_NAMES: Final[Mapping[type, str]] = {str: "a text", float: "a number", bool: "true or false"}
_OF_DERIVED: Final[Mapping[str, type]] = {"score": float, "email_is_business": bool, "is_open": bool}


class Values(Struct, frozen=True):
    """What a variable can be."""

    kinds: frozenset[type]
    """Of `str`, `float` for every number, and `bool`."""
    texts: frozenset[str] | None
    """Each text that it can be, as `normal` has it; None where that can be any."""


def variables(flow: Flow) -> dict[str, Values]:
    """What each variable of a flow can be: those of questions, which may share one, and the derived ones."""
    able = {name: Values(frozenset({_OF_DERIVED.get(name, str)}), None) for name in DERIVED}
    for node in flow.nodes:
        if isinstance(node, Ask):
            kinds: frozenset[type] = frozenset({float if node.input == "number" else str})
            texts = frozenset(normal(option.value_or_label) for option in node.options) or None
            if before := able.get(node.variable):
                kinds |= before.kinds
                texts = before.texts | texts if before.texts and texts else None
            able[node.variable] = Values(kinds, texts)
    return able


def fault(condition: Condition, able: Values) -> str:
    """What is wrong with what a variable is compared with; an empty text where nothing is."""
    if wrong := _shape(condition):
        return wrong
    if condition.op in ORDERS and float not in able.kinds:
        return f"This is {_kinds(able)}, and never greater or less than a number."
    if condition.op in ("contains", "ends_with") and str not in able.kinds:
        return f"This is {_kinds(able)}, and contains no text."
    return _unequal(condition.value, able) if condition.op in ("eq", "in") else ""


def _unequal(value: object, able: Values) -> str:
    for wanted in value if isinstance(value, tuple) else (value,):
        kind = bool if isinstance(wanted, bool) else str if isinstance(wanted, str) else float
        if kind not in able.kinds:
            return f"Compare with {_kinds(able)}, not with {_NAMES[kind]}."
        if isinstance(wanted, str) and able.texts is not None and normal(wanted) not in able.texts:
            return f"'{wanted}' is none of the answers."
    return ""


def _kinds(able: Values) -> str:
    return " or ".join(name for kind, name in _NAMES.items() if kind in able.kinds)


def _shape(condition: Condition) -> str:
    value, needs_none = condition.value, condition.op in ("is_set", "not_set")
    if needs_none != (value is None):
        return "This comparison has nothing to compare with." if needs_none else "Say what to compare with."
    if (condition.op == "in") != isinstance(value, tuple):
        return f"Compare with {'a list' if condition.op == 'in' else 'one value'}."
    if condition.op in ORDERS and not _is_number(value):
        return "Compare with a number."
    if condition.op in ("contains", "ends_with") and not (isinstance(value, str) and value):
        return "Compare with a text that is not empty."
    return "Compare with a list that is not empty." if value == () else ""


def _is_number(value: object) -> bool:
    """Neither `true`, which compares as 1, nor `nan`, which is in no order with anything."""
    return isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value)
