"""Jobs, looked up: for the metrics, `leadwire status`, `leadwire jobs` and the page System."""

from datetime import datetime
from typing import Final, Literal

from msgspec import Struct

from leadwire.infrastructure.db.statements import sql

State = Literal["waiting", "running", "scheduled", "failed"]
"""waiting: due, and not begun. scheduled: due later. failed: given up until somebody lets it be tried again."""

_STATE: Final = """CASE WHEN failed_at IS NOT NULL THEN 'failed' WHEN due_at <= now() THEN 'waiting'
    WHEN owner IS NOT NULL THEN 'running' ELSE 'scheduled' END"""
# Those that are due, being done, or given up, by kind.
_SUMMARIES: Final = sql(f"""
SELECT kind, count(*) FILTER (WHERE state IN ('waiting', 'running')) AS waiting,
    coalesce(max(extract(epoch FROM now() - since)) FILTER (WHERE failed_at IS NULL AND since <= now()), 0)::float8,
    count(*) FILTER (WHERE state = 'failed') AS failed, count(*) FILTER (WHERE tries > 0 AND failed_at IS NULL)
FROM (SELECT *, {_STATE} AS state FROM job) job GROUP BY kind ORDER BY kind""")
# Jobs in the order of their age.
_LIST: Final = sql(f"""
SELECT kind, key, workspace_id, {_STATE} AS state, since, due_at, tries, error FROM job
WHERE (:kind::text IS NULL OR kind = :kind) AND (:state::text IS NULL OR {_STATE} = :state)
    AND (key <> '' OR tries > 0)
ORDER BY since, kind, key LIMIT :most""")
# Jobs that have failed, once or for good, are due now.
_RETRY: Final = sql("""
UPDATE job SET failed_at = NULL, tries = 0, due_at = now()
WHERE tries > 0 AND (owner IS NULL OR due_at <= now())
    AND (:kind::text IS NULL OR kind = :kind) AND (:key::text IS NULL OR key = :key)
RETURNING 1""")


class Summary(Struct):
    """The jobs of a kind. `waiting` are due or being done; `failing` have failed and will be tried again."""

    kind: str
    waiting: int
    oldest_seconds: float
    failed: int
    failing: int


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
    return [Summary(*row) for row in await _SUMMARIES.rows()]


async def listed(kind: str | None = None, state: State | None = None, most: int = 100) -> list[Listed]:
    """Return jobs, the oldest first. Chores are among them where they fail."""
    return [Listed(*row) for row in await _LIST.rows(kind=kind, state=state, most=most)]


async def retry(kind: str | None = None, key: str | None = None) -> int:
    """Let jobs that have failed be tried again now. Return how many."""
    return len(await _RETRY.rows(kind=kind, key=key))
