"""One thing the doctor looked at."""

from typing import Literal

from msgspec import Struct

Level = Literal["ok", "warning", "error"]


class Finding(Struct, frozen=True):
    """`error`: events can be lost, doubled or stuck, or it does not run at all. `warning`: it will hurt some day."""

    about: str
    level: Level
    says: str
    fix: str = ""


def ok(about: str, says: str) -> Finding:
    """As it should be."""
    return Finding(about, "ok", says)


def warning(about: str, says: str, fix: str) -> Finding:
    """It will hurt some day."""
    return Finding(about, "warning", says, fix)


def error(about: str, says: str, fix: str) -> Finding:
    """It must be mended."""
    return Finding(about, "error", says, fix)


def unless(wrong: bool, about: str, says: str, fix: str, *, level: Level = "error") -> Finding:
    """As it should be unless it is `wrong`; then of this level, with the fix."""
    return Finding(about, level, says, fix) if wrong else ok(about, says)
