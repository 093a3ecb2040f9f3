"""What a change rests on: a form carries a digest of what it showed, and undoes nothing that was changed since."""

import hashlib

import msgspec

from leadwire.infrastructure.errors import Conflict


def digest(value: object) -> str:
    """Sixteen hexadecimal digits of a value as somebody saw it."""
    return hashlib.sha256(msgspec.json.encode(value, order="deterministic")).hexdigest()[:16]


def check(saw: str, value: object) -> None:
    """Raise Conflict when a value is another than the one whose digest somebody `saw`; '' says nothing of that."""
    if saw and saw != digest(value):
        raise Conflict(
            "Somebody else has changed this since you opened it. Open the page again to see it, or save to keep yours.",
            code="changed_meanwhile",
        )
