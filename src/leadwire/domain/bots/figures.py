"""How bots do: from visitors who saw the widget to leads, step by step. Read from counts by day (`changes.counts`), so
however many conversations there are.
"""

from datetime import date, datetime, timedelta
from typing import Final, NamedTuple

from msgspec import Struct

from leadwire.domain.bots.changes.counts import Kind
from leadwire.infrastructure.db.statements import sql

# An array, so that the bots are found first, and of the counts only theirs are read.
_OF: Final = """bot_count c WHERE c.bot_id = ANY(ARRAY(
    SELECT id FROM bot WHERE workspace_id = :workspace AND (:bot_id::text IS NULL OR id = :bot_id)))"""
# Conversations that came to each node, and went on from it.
_STEPS: Final = sql(f"""
SELECT c.name, coalesce(sum(total) FILTER (WHERE c.kind = 'entered'), 0)::int,
    coalesce(sum(total) FILTER (WHERE c.kind = 'passed'), 0)::int
FROM {_OF} AND c.day >= :since AND c.kind IN ('entered', 'passed') GROUP BY 1""")
# What happened of each kind and name in a period, and in the one before.
_SUMS: Final = sql(f"""
SELECT c.kind, c.name, coalesce(sum(total) FILTER (WHERE c.day >= :since), 0)::int,
    coalesce(sum(total) FILTER (WHERE c.day < :since), 0)::int
FROM {_OF} AND c.day >= :before AND c.kind NOT IN ('entered', 'passed') GROUP BY 1, 2 ORDER BY 3 DESC, 4 DESC, 2""")
# The same of each bot.
_BY_BOT: Final = sql(f"""
SELECT c.bot_id, c.kind, sum(total)::int
FROM {_OF} AND c.day >= :since AND c.kind IN ('shown', 'opened', 'started', 'lead', 'handoff') GROUP BY 1, 2""")


class Pair(NamedTuple):
    """A figure of a period, and of the one before."""

    now: int = 0
    before: int = 0


class StepCount(Struct, frozen=True):
    """Conversations that came to a node, and those of them that came no further: to no other node, no person and not
    to the end.
    """

    entered: int
    left: int


async def steps(workspace: str, bot_id: str, since: datetime | date) -> dict[str, StepCount]:
    """Return for each node of a bot what became of conversations since a day (UTC), by the node's id."""
    day = since.date() if isinstance(since, datetime) else since
    rows = await _STEPS.rows(workspace=workspace, bot_id=bot_id, since=day)
    return {node: StepCount(entered, max(0, entered - passed)) for node, entered, passed in rows}


async def sums(workspace: str, bot_id: str | None, since: date, days: int) -> dict[Kind, dict[str, Pair]]:
    """Return by kind and name how often something happened in so many days since one, and in as many before.

    Names are in the order of their figures; what has none is of the name "".
    """
    before = since - timedelta(days=days)
    pairs: dict[Kind, dict[str, Pair]] = {}
    for kind, name, *pair in await _SUMS.rows(workspace=workspace, bot_id=bot_id, since=since, before=before):
        pairs.setdefault(kind, {})[name] = Pair(*pair)
    return pairs


async def by_bot(workspace: str, since: date) -> dict[str, dict[Kind, int]]:
    """Return by bot and kind how often something happened since a day."""
    counts: dict[str, dict[Kind, int]] = {}
    for bot_id, kind, total in await _BY_BOT.rows(workspace=workspace, bot_id=None, since=since):
        counts.setdefault(bot_id, {})[kind] = total
    return counts
