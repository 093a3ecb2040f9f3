"""What somebody saw of what they change: a form carries a digest of it, and undoes nothing that was changed since."""

import hashlib

import msgspec

from leadwire.infrastructure.errors import Conflict


def seen(value: object) -> str:
    """A digest of a value as somebody saw it."""
    return hashlib.sha256(msgspec.json.encode(value, order="deterministic")).hexdigest()[:16]


def check(saw: str, value: object) -> None:
    """Raise Conflict when the value is another than what somebody `saw`; an empty text says nothing of that."""
    if saw and saw != seen(value):
        raise Conflict(
            "Somebody else has changed this since you opened it. Look at what it is now, and save once more.",
            code="changed_meanwhile",
        )
