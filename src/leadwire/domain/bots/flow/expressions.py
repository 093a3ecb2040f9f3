"""What a flow says with a visitor's variables: conditions, and texts with `{{name}}` or `{{name|there}}`. Pure.

Texts are filled in one pass, so that `{{email}}` as somebody's name stays these nine characters.
"""

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final, assert_never

from leadwire.domain.bots.flow.nodes import Condition, Order, Scalar, When
from leadwire.domain.conversations.schema import MAX_TEXT
from leadwire.infrastructure.unseen import UNSEEN

OF_HOURS: Final = frozenset({"is_open", "next_open"})
"""Variables that tell of opening hours: all that `back_text` can use."""
DERIVED: Final = OF_HOURS | {"score", "email_domain", "email_is_business"}
"""Variables that no node sets: the engine does."""

ORDERS: Final[dict[Order, Callable[[float, float], bool]]] = {
    "gt": operator.gt, "gte": operator.ge, "lt": operator.lt, "lte": operator.le,
}  # fmt: skip
"""The operators that compare numbers."""
_SLOT: Final = re.compile(r"\{\{\s*([a-z][a-z0-9_]*)\s*(?:\|([^{}|]*))?\}\}")
_WRITTEN: Final = re.compile(r"\{\{\s*([^{}|]*?)\s*(?:\|[^{}|]*)?\}\}")  # also what is no name, such as {{Name}}
_SPACE: Final = re.compile(r"\s+")
_LONGEST: Final = 200  # characters of one value


def holds(when: When, variables: Mapping[str, Scalar]) -> bool:
    """Whether every condition of `all` is true, and one of `any` if there are some."""
    return all(_true(condition, variables) for condition in when.all) and (
        not when.any or any(_true(condition, variables) for condition in when.any)
    )


# A forgotten operator fails the type check, and a turn, and is never just false.
def _true(condition: Condition, variables: Mapping[str, Scalar]) -> bool:  # noqa: PLR0911 - one line an operator
    value, wanted, op = variables.get(condition.var), condition.value, condition.op
    match op:
        case "eq":
            return _same(value, wanted)
        case "ne":
            return not _same(value, wanted)
        case "in":
            return isinstance(wanted, tuple) and any(_same(value, choice) for choice in wanted)
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
    return ORDERS[op](value, wanted)


def _same(value: object, wanted: object) -> bool:
    """Texts as `normal` has them; `true` is not 1."""
    if isinstance(value, str) and isinstance(wanted, str):
        return normal(value) == normal(wanted)
    return isinstance(value, bool) == isinstance(wanted, bool) and value == wanted


def normal(text: str) -> str:
    """A text as it is compared with another: without case, and with one blank for all that is between words.

    What a visitor presses comes back with the blanks of what they read, and what they type with those they type.
    """
    return _SPACE.sub(" ", UNSEEN.sub(" ", text)).strip().casefold()


def names_in(text: str) -> Iterator[str]:
    """The variables a text asks for, also by what can be the name of none."""
    return (slot[1] for slot in _WRITTEN.finditer(text))


def fill(text: str, variables: Mapping[str, object]) -> str:
    """`text` with its variables' values."""

    def value(slot: re.Match[str]) -> str:
        variable = variables.get(slot[1])
        return (slot[2] or "").strip() if variable in (None, "") else _shown(variable)[:_LONGEST]

    return _SLOT.sub(value, text)[:MAX_TEXT]


def _shown(value: object) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)
