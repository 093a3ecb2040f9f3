"""What a flow says with a visitor's variables: conditions, and texts with `{{name}}` or `{{name|there}}`. Pure.

Texts are filled in one pass, so that `{{email}}` as somebody's name stays these nine characters.
"""

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Final, Literal, assert_never

from msgspec import Meta, Struct

from leadwire.domain.conversations.schema import MAX_TEXT

Variable = Annotated[str, Meta(pattern=r"^[a-z][a-z0-9_]{0,63}\Z")]
Scalar = Annotated[str, Meta(max_length=500)] | int | float | bool
Order = Literal["gt", "gte", "lt", "lte"]
Op = Literal["eq", "ne", "contains", "ends_with", Order, "in", "is_set", "not_set"]

DERIVED: Final = frozenset({"score", "email_domain", "email_is_business", "is_open", "next_open"})
"""Variables that no node sets: the engine does."""

_ORDERS: Final[dict[Order, Callable[[float, float], bool]]] = {
    "gt": operator.gt, "gte": operator.ge, "lt": operator.lt, "lte": operator.le,
}  # fmt: skip
_SLOT: Final = re.compile(r"\{\{\s*([a-z][a-z0-9_]*)\s*(?:\|([^{}|]*))?\}\}")
_LONGEST: Final = 200  # characters of one value


class Condition(Struct, frozen=True, forbid_unknown_fields=True):
    """Compares a variable with a value. Omit `value` for `is_set` and `not_set`; it is a list for `in`."""

    var: Variable
    op: Op
    value: Scalar | Annotated[tuple[Scalar, ...], Meta(max_length=100)] | None = None


class When(Struct, frozen=True, forbid_unknown_fields=True):
    """True if all conditions in `all` are true, and at least one in `any` if that list is not empty."""

    all: Annotated[tuple[Condition, ...], Meta(max_length=20)] = ()
    any: Annotated[tuple[Condition, ...], Meta(max_length=20)] = ()


def holds(when: When, known: Mapping[str, Scalar]) -> bool:
    """Whether every condition of `all` is true, and one of `any` if there are some."""
    return all(_true(one, known) for one in when.all) and (not when.any or any(_true(one, known) for one in when.any))


# A forgotten operator fails the type check, and a turn, and is never just false.
def _true(condition: Condition, known: Mapping[str, Scalar]) -> bool:  # noqa: PLR0911 - one line an operator
    value, wanted, op = known.get(condition.var), condition.value, condition.op
    match op:
        case "eq":
            return _same(value, wanted)
        case "ne":
            return not _same(value, wanted)
        case "in":
            return isinstance(wanted, tuple) and any(_same(value, one) for one in wanted)
        case "is_set":
            return value is not None
        case "not_set":
            return value is None
        case "contains":
            return isinstance(value, str) and str(wanted).casefold() in value.casefold()
        case "ends_with":
            return isinstance(value, str) and value.casefold().endswith(str(wanted).casefold())
        case "gt" | "gte" | "lt" | "lte":
            return _in_order(op, value, wanted)
        case _:
            assert_never(op)


def _in_order(op: Order, value: object, wanted: object) -> bool:
    """Numbers only; `true` is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not isinstance(wanted, int | float):
        return False
    return _ORDERS[op](value, wanted)


def _same(value: object, wanted: object) -> bool:
    """Texts without regard to case; `true` is not 1."""
    if isinstance(value, str) and isinstance(wanted, str):
        return value.casefold() == wanted.casefold()
    return isinstance(value, bool) == isinstance(wanted, bool) and value == wanted


def names_in(text: str) -> Iterator[str]:
    """The variables a text uses."""
    return (slot[1] for slot in _SLOT.finditer(text))


def fill(text: str, variables: Mapping[str, object]) -> str:
    """`text` with its variables' values."""

    def value(slot: re.Match[str]) -> str:
        known = variables.get(slot[1])
        return (slot[2] or "").strip() if known in (None, "") else _shown(known)[:_LONGEST]

    return _SLOT.sub(value, text)[:MAX_TEXT]


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)
