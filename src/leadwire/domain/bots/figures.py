"""How bots do: from visitors who saw the widget to leads, step by step. Read from counts by day (`changes.counts`), so
however many conversations there are.
"""

from datetime import date, datetime
from typing import Final

from msgspec import Struct

from leadwire.infrastructure.db.statements import sql

_OF: Final = """bot_count c JOIN bot b ON b.id = c.bot_id
WHERE b.workspace_id = :workspace AND (:bot_id::text IS NULL OR b.id = :bot_id)"""
# Conversations that came to each node, and went on from it.
_STEPS: Final = sql(f"""
SELECT c.name, coalesce(sum(total) FILTER (WHERE c.kind = 'entered'), 0)::int,
    coalesce(sum(total) FILTER (WHERE c.kind = 'passed'), 0)::int
FROM {_OF} AND c.day >= :since AND c.kind IN ('entered', 'passed') GROUP BY 1""")


class StepCount(Struct, frozen=True):
    """Conversations that came to a node, and those of them that came no further: to no other node, no person and not
    to the end.
    """

    entered: int
    left: int


async def steps(workspace: str, bot_id: str, since: datetime | date) -> dict[str, StepCount]:
    """Return for each node of a bot what became of conversations since a day (UTC), by the node's id."""
    day = since.date() if isinstance(since, datetime) else since
    found = await _STEPS.rows(workspace=workspace, bot_id=bot_id, since=day)
    return {node: StepCount(entered, max(0, entered - passed)) for node, entered, passed in found}
