"""The result of one check."""

from typing import Final, Literal

from msgspec import Struct

_NOTICED: Final = 1.0  # seconds
_BAD: Final = 30.0  # receivers refuse a signature that is five minutes off
_FIX: Final = "run a time service (chrony, systemd-timesyncd) on both machines"

Level = Literal["ok", "warning", "error"]


class Finding(Struct, frozen=True):
    """`error`: events can be lost, doubled or stuck, or nothing runs. `warning`: a problem later."""

    about: str
    level: Level
    says: str
    fix: str = ""


def unless(wrong: bool, about: str, says: str, fix: str, *, level: Level = "error") -> Finding:
    """No problem unless `wrong`; then one of this level, with the fix."""
    return Finding(about, level, says, fix) if wrong else Finding(about, "ok", says)


def clock(about: str, sent: float, theirs: float, received: float) -> Finding:
    """Compare a server's clock with ours. It was read between `sent` and `received`: only what lies outside is off."""
    off = max(sent - theirs, theirs - received, 0.0)
    return unless(
        off > _NOTICED,
        about,
        f"{off:.1f} s from ours" if off > _NOTICED else "agrees with ours",
        _FIX,
        level="error" if off > _BAD else "warning",
    )
