"""Clocks: PostgreSQL's decides what is due, ours is in signatures and ids, Redis's in the ages of entries."""

from typing import Any, Final

from leadwire.infrastructure import clock, db
from leadwire.interfaces.cli.checks.finding import Finding, unless

_NOTICED: Final = 1.0  # seconds
_BAD: Final = 30.0  # receivers refuse a signature that is five minutes off
_FIX: Final = "run a time service (chrony, systemd-timesyncd) on both machines"


async def of_database() -> Finding:
    """How far PostgreSQL's clock is from ours."""
    sent = clock.now().timestamp()
    theirs = await db.value("SELECT extract(epoch FROM clock_timestamp())::float8")
    return _compared("clock of PostgreSQL", sent, theirs, clock.now().timestamp())


async def of_redis(client: Any) -> Finding:
    """How far Redis's clock is from ours."""
    sent = clock.now().timestamp()
    seconds, microseconds = await client.time()
    return _compared("clock of Redis", sent, seconds + microseconds / 1e6, clock.now().timestamp())


def _compared(about: str, sent: float, theirs: float, received: float) -> Finding:
    """They looked somewhere between `sent` and `received`: only what lies outside is sure to be a difference."""
    off = max(sent - theirs, theirs - received, 0.0)
    return unless(
        off > _NOTICED,
        about,
        f"{off:.1f} s from ours" if off > _NOTICED else "agrees with ours",
        _FIX,
        level="error" if off > _BAD else "warning",
    )
