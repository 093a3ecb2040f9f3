"""What a page tells of its visitor, among the variables of the conversation: those of a flow have no dot. Pure."""

from collections.abc import Mapping
from typing import Final

from leadwire.domain.bots.flow.nodes import Scalar

MAX_ATTRIBUTES: Final = 20
"""What a page may tell of its visitor, in one conversation."""
PAGE: Final = "page."
"""Begins the names of attributes."""
VERIFIED: Final = "verified."
"""Begins the names of what the website's server vouches for."""
CUSTOM: Final = "custom_fields."
_FIELDS: Final = {"email": "email", "name": "name", "user_id": f"{CUSTOM}user_id"}


def added(variables: dict[str, Scalar], told: Mapping[str, str]) -> dict[str, Scalar]:
    """The variables with what the page tells; attributes beyond `MAX_ATTRIBUTES` in all are left out."""
    for name, value in told.items():
        if name in variables or not name.startswith(PAGE) or len(attributes(variables)) < MAX_ATTRIBUTES:
            variables = {**variables, name: value}
    return variables


def attributes(variables: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """What the page has told, by lead field."""
    return {f"{CUSTOM}{name[len(PAGE) :]}": value for name, value in variables.items() if name.startswith(PAGE)}


def vouched(variables: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """What the website's server vouches for, by lead field."""
    return {field: variables[VERIFIED + name] for name, field in _FIELDS.items() if VERIFIED + name in variables}
