"""The result of one check."""

import tomllib
from pathlib import Path
from typing import Final, Literal

from msgspec import Struct

_PROBLEMS: Final[dict[str, dict[str, str]]] = tomllib.loads(Path(__file__).with_name("problems.toml").read_text())
_NOTICED: Final = 1.0  # seconds
_BAD: Final = 30.0  # receivers refuse a signature that is five minutes off

Level = Literal["ok", "warning", "error"]


class Finding(Struct, frozen=True):
    """`error`: events can be lost, doubled or stuck, or nothing runs. `warning`: a problem later."""

    about: str
    level: Level
    says: str
    fix: str = ""


def unless(wrong: bool, about: str, says: str, *, level: Level | None = None, **values: object) -> Finding:
    """No problem unless `wrong`; then the one in `problems.toml`, of this level, with these values in its fix."""
    problem = _PROBLEMS[about]
    if not wrong:
        return Finding(about, "ok", says)
    usual: Level = "warning" if problem.get("level") == "warning" else "error"
    return Finding(about, level or usual, says, problem["fix"].format(**values))


def clock(about: str, sent: float, theirs: float, received: float) -> Finding:
    """Compare a server's clock with ours. It was read between `sent` and `received`: only what lies outside is off."""
    off = max(sent - theirs, theirs - received, 0.0)
    if off <= _NOTICED:
        return Finding(about, "ok", "agrees with ours")
    fix = "run a time service (chrony, systemd-timesyncd) on both machines"
    return Finding(about, "error" if off > _BAD else "warning", f"{off:.1f} s from ours", fix)
