"""How people answer visitors, and what visitors thought of it: a period beside the one before."""

from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

from leadwire.infrastructure.db.statements import sql

MOST: Final = 1000
"""Conversations that response times are of: the latest of the period."""
_MINE: Final = "c.workspace_id = :workspace AND (:bot_id::text IS NULL OR c.bot_id = :bot_id)"

# Of the latest conversations in which a person was asked for: how many, how many were answered, and how soon: half of
# them, and nine in ten.
_RESPONSES: Final = sql(f"""
SELECT count(*)::int, count(took)::int, percentile_cont(0.5) WITHIN GROUP (ORDER BY took),
    percentile_cont(0.9) WITHIN GROUP (ORDER BY took)
FROM (SELECT extract(epoch FROM (SELECT min(m.created_at) FROM message m WHERE m.conversation_id = c.id
        AND m.role = 'agent' AND m.created_at >= c.handoff_requested_at) - c.handoff_requested_at)::float8 AS took
    FROM conversation c WHERE {_MINE} AND c.handoff_requested_at IS NOT NULL
      AND c.created_at >= :since AND c.created_at < :until
      AND c.handoff_reason NOT IN ('taken over by an operator', 'assigned by an operator')
    ORDER BY c.created_at DESC LIMIT {MOST}) AS asked""")
# Who waits for a person now, up to a most, and since when the first.
_WAITING: Final = sql(f"""
SELECT count(*)::int, min(since) FROM (SELECT c.handoff_requested_at AS since FROM conversation c
    WHERE {_MINE} AND c.status = 'handoff' AND c.assigned_to IS NULL LIMIT {MOST}) AS few""")
_RATINGS: Final = sql(f"""
SELECT c.rating, count(*) FILTER (WHERE c.created_at >= :since)::int, count(*) FILTER (WHERE c.created_at < :since)::int
FROM conversation c WHERE {_MINE} AND c.rating IS NOT NULL AND c.created_at >= :before GROUP BY 1""")


class Responses(Struct, frozen=True):
    """Of `asked` conversations that wanted a person `answered` got one: half of these within `median` seconds, nine in
    ten within `most`.
    """

    asked: int
    answered: int
    median: float | None
    most: float | None


class Waiting(Struct, frozen=True):
    """Visitors who wait for a person now, and since when the first does."""

    count: int
    since: datetime | None


async def responses(workspace: str, bot_id: str | None, since: datetime, until: datetime) -> Responses:
    """Return how soon people answered in conversations that began in a period: of the latest `MOST`."""
    row = await _RESPONSES.row(workspace=workspace, bot_id=bot_id, since=since, until=until)
    return Responses(*(row or (0, 0, None, None)))


async def waiting(workspace: str, bot_id: str | None) -> Waiting:
    """Return who waits now."""
    return Waiting(*(await _WAITING.row(workspace=workspace, bot_id=bot_id) or (0, None)))


async def ratings(workspace: str, bot_id: str | None, since: datetime, length: timedelta) -> dict[int, tuple[int, int]]:
    """Return for each rating, 1 to 5, how many conversations got it since a time, and in as long before."""
    rows = await _RATINGS.rows(workspace=workspace, bot_id=bot_id, since=since, before=since - length)
    known = {rating: (now, before) for rating, now, before in rows}
    return {rating: known.get(rating, (0, 0)) for rating in range(5, 0, -1)}
