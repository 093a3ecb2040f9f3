"""Who makes others wait."""

from typing import Final, NamedTuple

from leadwire.infrastructure.db.statements import load

_BLOCKERS: Final = load(__file__)["blockers"]


class Blocker(NamedTuple):
    """A session, and what is said about it."""

    pid: int
    says: str


async def blockers(longer: float = 1.0) -> list[Blocker]:
    """Return who makes others wait for longer than some seconds, whoever keeps most of them first."""
    return [
        Blocker(row["pid"], f"pid {row['pid']} ({row['who']}) makes {row['waiting']} wait: {row['statement']}")
        for row in await _BLOCKERS.rows(longer=longer)
    ]
