"""The result of one check."""

from typing import Literal

from msgspec import Struct

Level = Literal["ok", "warning", "error"]


class Finding(Struct, frozen=True):
    """`error`: events can be lost, doubled or stuck, or nothing runs. `warning`: a problem later."""

    about: str
    level: Level
    says: str
    fix: str = ""


def ok(about: str, says: str) -> Finding:
    """No problem."""
    return Finding(about, "ok", says)


def warning(about: str, says: str, fix: str) -> Finding:
    """A warning with its fix."""
    return Finding(about, "warning", says, fix)


def error(about: str, says: str, fix: str) -> Finding:
    """An error with its fix."""
    return Finding(about, "error", says, fix)


def unless(wrong: bool, about: str, says: str, fix: str, *, level: Level = "error") -> Finding:
    """No problem unless `wrong`; then one of this level, with the fix."""
    return Finding(about, level, says, fix) if wrong else ok(about, says)
