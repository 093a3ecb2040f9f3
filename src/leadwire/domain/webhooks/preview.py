"""What a subscription would have been sent: the events of the last hours that match, counted and by example."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

from leadwire.domain.webhooks.filters import Filter, path_of
from leadwire.infrastructure import clock, ids
from leadwire.infrastructure.db.statements import sql

MOST: Final = 1000
"""Events of a kind that are counted at the most."""
_EXAMPLES: Final = 3

# Of each kind the newest events, up to a most, by the index of workspace, kind and xact: how many there are and pass a
# filter, and the newest of these.
_EVENTS: Final = f"""FROM unnest(:kinds::text[]) AS wanted(kind) LEFT JOIN LATERAL (
    SELECT v.id, v.occurred_at, coalesce(v.lead_id, v.conversation_id) AS subject, v.body FROM event v
    WHERE v.workspace_id = :workspace AND v.kind = wanted.kind AND v.id >= :since AND v.occurred_at >= :moment
        AND v.test_endpoint_id IS NULL
    ORDER BY v.xact DESC LIMIT {MOST}) AS few ON true"""
_PASSES: Final = "(:path::text IS NULL OR passes_filter(:path::text::jsonpath, few.body))"
_COUNTED: Final = sql(f"""
SELECT wanted.kind, count(few.id), count(few.id) FILTER (WHERE {_PASSES}) {_EVENTS} GROUP BY wanted.kind""")
_NEWEST: Final = sql(f"""
SELECT few.id, wanted.kind, few.occurred_at, few.subject, few.body {_EVENTS}
WHERE few.body <> '' AND {_PASSES} ORDER BY few.id DESC LIMIT {_EXAMPLES}""")


class Example(Struct, frozen=True):
    """An event that would have been sent."""

    event_id: str
    kind: str
    at: datetime
    subject: str | None
    body: str


class Preview(Struct, frozen=True):
    """How many events of each kind, up to `MOST`, how many of them pass the filter, and the newest of these."""

    counts: dict[str, int]
    passed: dict[str, int]
    examples: list[Example]

    @property
    def total(self) -> int:
        """Events of every kind that pass."""
        return sum(self.passed.values())


async def of(workspace: str, kinds: Sequence[str], hours: int, wanted: Filter | None = None) -> Preview:
    """Return what an endpoint for these kinds would have been sent in the last `hours`. Raise Invalid."""
    moment = clock.now() - timedelta(hours=hours)
    which: dict[str, object] = {"workspace": workspace, "kinds": list(kinds), "moment": moment}
    which |= {"since": ids.floor("evt", moment), "path": path_of(wanted) if wanted and wanted.restricts else None}
    counted = await _COUNTED.rows(**which)
    counts, passed = ({row[0]: row[place] for row in counted} for place in (1, 2))
    return Preview(counts, passed, [Example(*row) for row in await _NEWEST.rows(**which)])
