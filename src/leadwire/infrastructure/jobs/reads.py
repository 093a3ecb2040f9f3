"""Jobs, looked up: for the metrics, `leadwire status`, `leadwire jobs` and the page System."""

from datetime import datetime
from typing import Final, Literal

from msgspec import Struct

from leadwire.infrastructure.db.queries import query
from leadwire.infrastructure.db.statements import named
from leadwire.infrastructure.jobs.queue import LEASE

CAPPED: Final = 10_000
UNATTENDED: Final = 60.0
"""Seconds that no background process has done what is due, from which on none runs."""
State = Literal["waiting", "running", "scheduled", "failed"]
"""waiting: due, and not begun. scheduled: due later. failed: given up until somebody lets it be tried again."""

_SUMMARIES, _UNATTENDED, _RETRY = named(__file__, "summaries unattended retry")


class Summary(Struct):
    """The jobs of a kind. `waiting` are due or being done; `failing` have failed and will be tried again, `failed` were
    given up. Each is counted up to `CAPPED`. `oldest` is the key of the one that is late by `oldest_seconds`.
    """

    kind: str
    waiting: int
    oldest_seconds: float
    oldest: str | None
    failed: int
    failing: int

    @property
    def busy(self) -> bool:
        """Whether anything is to be done, or was given up: what the page System shows."""
        return bool(self.waiting or self.failing or self.failed)


class Listed(Struct):
    """One job. `since`: when it was due for the first time; `error`: of the last try."""

    kind: str
    key: str
    workspace: str
    state: State
    since: datetime
    due_at: datetime
    tries: int
    error: str | None


async def summaries() -> list[Summary]:
    """Return the kinds that have jobs."""
    return [Summary(*row) for row in await _SUMMARIES.rows(lease=LEASE, most=CAPPED)]


async def unattended() -> float | None:
    """Return for how many seconds no background process has done what is due; None: there was never one."""
    (row,) = await _UNATTENDED.rows()
    return max(row[1], 0.0) if row[0] else None


@query()
async def listed(kind: str | None = None, state: State | None = None, most: int = 100) -> list[Listed]:
    """Return jobs, the oldest first. Chores are among them where they fail."""


async def retry(kind: str | None = None, key: str | None = None) -> int:
    """Let jobs that have failed be tried again now. Return how many."""
    return len(await _RETRY.rows(kind=kind, key=key))
