"""What a subscription would have been sent: the events of the last hours that match, counted and by example."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

from leadwire.infrastructure import clock, ids
from leadwire.infrastructure.db.statements import sql

MOST: Final = 1000
"""Events of a kind that are counted at the most."""
_EXAMPLES: Final = 3

# Of each kind how many events there were, up to a most, and the newest ones. By the index of workspace, kind and xact.
_COUNTED: Final = sql(f"""
SELECT wanted.kind, (SELECT count(*) FROM (SELECT 1 FROM event v WHERE v.workspace_id = :workspace
        AND v.kind = wanted.kind AND v.id >= :since AND v.occurred_at >= :moment AND v.test_endpoint_id IS NULL
        ORDER BY v.xact DESC LIMIT {MOST}) AS few)
FROM unnest(:kinds::text[]) AS wanted(kind)""")
_NEWEST: Final = sql(f"""
SELECT newest.* FROM unnest(:kinds::text[]) AS wanted(kind), LATERAL (
    SELECT v.id, v.kind, v.occurred_at, coalesce(v.lead_id, v.conversation_id), v.body FROM event v
    WHERE v.workspace_id = :workspace AND v.kind = wanted.kind AND v.id >= :since AND v.test_endpoint_id IS NULL
        AND v.body <> '' ORDER BY v.xact DESC LIMIT {_EXAMPLES}) AS newest
ORDER BY newest.id DESC LIMIT {_EXAMPLES}""")


class Example(Struct, frozen=True):
    """An event that would have been sent."""

    event_id: str
    kind: str
    at: datetime
    subject: str | None
    body: str


class Preview(Struct, frozen=True):
    """How many events of each kind, up to `MOST`, and the newest of all."""

    counts: dict[str, int]
    examples: list[Example]

    @property
    def total(self) -> int:
        """Events of every kind."""
        return sum(self.counts.values())


async def of(workspace: str, kinds: Sequence[str], hours: int) -> Preview:
    """Return what an endpoint for these kinds would have been sent in the last `hours`."""
    moment = clock.now() - timedelta(hours=hours)
    which = {"workspace": workspace, "kinds": list(kinds), "since": ids.floor("evt", moment)}
    counts = {row[0]: row[1] for row in await _COUNTED.rows(**which, moment=moment)}
    return Preview(counts, [Example(*row) for row in await _NEWEST.rows(**which)])
