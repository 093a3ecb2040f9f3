"""Conditions on the variables of a conversation, as a flow writes them. Pure; `expressions` evaluates them."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

Variable = Annotated[str, Meta(pattern=r"^[a-z][a-z0-9_]{0,63}\Z")]
Scalar = Annotated[str, Meta(max_length=500)] | int | float | bool
Order = Literal["gt", "gte", "lt", "lte"]
Op = Literal["eq", "ne", "contains", "ends_with", Order, "in", "is_set", "not_set"]


class Condition(Struct, frozen=True, forbid_unknown_fields=True):
    """Compares a variable with a value. Omit `value` for `is_set` and `not_set`; it is a list for `in`."""

    var: Variable
    """The variable to compare: one that a node of the flow sets, or a derived variable."""
    op: Op
    """How to compare it."""
    value: Scalar | Annotated[tuple[Scalar, ...], Meta(max_length=100)] | None = None
    """The value to compare the variable with."""


class When(Struct, frozen=True, forbid_unknown_fields=True):
    """True if all conditions in `all` are true, and at least one in `any` if that list is not empty."""

    all: Annotated[tuple[Condition, ...], Meta(max_length=20)] = ()
    """Conditions that must all be true."""
    any: Annotated[tuple[Condition, ...], Meta(max_length=20)] = ()
    """Conditions of which at least one must be true, unless the list is empty."""
