"""Jobs, looked up: for the metrics, `leadwire status`, `leadwire jobs` and the page System."""

from datetime import datetime
from typing import Final, Literal

from msgspec import Struct

from leadwire.infrastructure.db.statements import sql
from leadwire.infrastructure.jobs.queue import LEASE

CAPPED: Final = 10_000
UNATTENDED: Final = 60.0
"""Seconds that no background process has done what is due, from which on none runs."""
State = Literal["waiting", "running", "scheduled", "failed"]
"""waiting: due, and not begun. scheduled: due later. failed: given up until somebody lets it be tried again."""

_STATE: Final = """CASE WHEN failed_at IS NOT NULL THEN 'failed' WHEN due_at <= now() THEN 'waiting'
    WHEN owner IS NOT NULL THEN 'running' ELSE 'scheduled' END"""
# Each kind that has jobs, by one step in the index for each.
_KINDS: Final = """
WITH RECURSIVE kinds (kind) AS (
    SELECT min(kind) FROM job
    UNION ALL
    SELECT (SELECT min(j.kind) FROM job j WHERE j.kind > kinds.kind) FROM kinds WHERE kind IS NOT NULL
)"""
# Of each kind: what is due or being done, the oldest of it and of what has failed, and how many have failed.
_SUMMARIES: Final = sql(f"""{_KINDS}
SELECT kinds.kind, due.count, coalesce(extract(epoch FROM now() - oldest.since), 0)::float8, oldest.key,
    tried.failed, tried.failing
FROM kinds CROSS JOIN LATERAL (
    SELECT array_agg(key) AS keys, count(*) FROM (
        SELECT key, due_at, owner FROM job WHERE kind = kinds.kind AND failed_at IS NULL
            AND due_at <= now() + :lease * interval '1 second' ORDER BY due_at LIMIT :most) j
    WHERE due_at <= now() OR owner IS NOT NULL
) due CROSS JOIN LATERAL (
    SELECT count(failed_at) AS failed, count(*) - count(failed_at) AS failing
    FROM (SELECT failed_at FROM job WHERE kind = kinds.kind AND tries > 0 LIMIT :most) j
) tried LEFT JOIN LATERAL (
    SELECT key, since FROM (
        SELECT key, since FROM job WHERE kind = kinds.kind AND key = ANY(due.keys)
        UNION ALL
        (SELECT key, since FROM job WHERE kind = kinds.kind AND tries > 0 AND failed_at IS NULL ORDER BY since LIMIT 1)
    ) j ORDER BY since LIMIT 1
) oldest ON true WHERE kinds.kind IS NOT NULL ORDER BY kinds.kind""")
# How late the chores are that nobody has begun. There are none where no background process has ever run.
_UNATTENDED: Final = sql(f"""{_KINDS}
SELECT count(*), coalesce(max(extract(epoch FROM now() - due_at)), 0)::float8
FROM job JOIN kinds USING (kind) WHERE key = ''""")
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
    """The jobs of a kind. `waiting` are due or being done; `failing` have failed and will be tried again, `failed` were
    given up. Each is counted up to `CAPPED`. `oldest` is the key of the one that is late by `oldest_seconds`.
    """

    kind: str
    waiting: int
    oldest_seconds: float
    oldest: str | None
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
    return [Summary(*row) for row in await _SUMMARIES.rows(lease=LEASE, most=CAPPED)]


async def unattended() -> float | None:
    """Return for how many seconds no background process has done what is due; None: there was never one."""
    (row,) = await _UNATTENDED.rows()
    return max(row[1], 0.0) if row[0] else None


async def listed(kind: str | None = None, state: State | None = None, most: int = 100) -> list[Listed]:
    """Return jobs, the oldest first. Chores are among them where they fail."""
    return [Listed(*row) for row in await _LIST.rows(kind=kind, state=state, most=most)]


async def retry(kind: str | None = None, key: str | None = None) -> int:
    """Let jobs that have failed be tried again now. Return how many."""
    return len(await _RETRY.rows(kind=kind, key=key))
