"""Whether a condition holds for what is known of a visitor. Pure.

Every operator has its branch: one that is added to `bots.flow` and forgotten here fails the type check, and a turn, and
is never just false.
"""

from collections.abc import Mapping
from typing import assert_never

from leadwire.domain.bots.flow import Condition, Order, Scalar, When


def holds(when: When, known: Mapping[str, Scalar]) -> bool:
    """Whether every condition of `all` is true, and one of `any` if there are some."""
    return all(_true(one, known) for one in when.all) and (not when.any or any(_true(one, known) for one in when.any))


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
    match op:
        case "gt":
            return value > wanted
        case "gte":
            return value >= wanted
        case "lt":
            return value < wanted
        case "lte":
            return value <= wanted
        case _:
            assert_never(op)


def _same(value: object, wanted: object) -> bool:
    """Texts without regard to case; `true` is not 1."""
    if isinstance(value, str) and isinstance(wanted, str):
        return value.casefold() == wanted.casefold()
    return isinstance(value, bool) == isinstance(wanted, bool) and value == wanted
