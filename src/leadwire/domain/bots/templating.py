"""Texts with variables: `{{name}}`, or `{{name|there}}` for visitors who have not told. Pure.

Filled in one pass and never again, so what a visitor typed is only ever text: `{{email}}` as somebody's name stays
these nine characters.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from leadwire.domain.conversations.schema import MAX_TEXT

DERIVED: Final = frozenset({"score", "email_domain", "email_is_business"})
"""Variables that no node sets: the engine does."""

_SLOT: Final = re.compile(r"\{\{\s*([a-z][a-z0-9_]*)\s*(?:\|([^{}|]*))?\}\}")
_LONGEST: Final = 200  # characters of one value: nobody makes the bot recite a novel


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
