"""Deliveries that kill or block whichever worker takes them are set aside until an operator releases them.

They are no dead letters: the receiver has done nothing wrong. Until released they wait, due never.
"""

from collections.abc import Sequence
from typing import Final

from leadwire.delivery.streams import Entry
from leadwire.delivery.table import Delivery
from leadwire.infrastructure.db.statements import NOW, if_given, sql, statement

# Let what the entries name wait for an operator.
_SET_ASIDE: Final = sql("""
UPDATE delivery d SET state = 'waiting', due_at = 'infinity', queued_at = NULL, set_aside_at = now()
FROM unnest(:events::text[], :endpoints::text[], :attempts::smallint[]) AS asked(event_id, endpoint_id, attempts)
WHERE d.event_id = asked.event_id AND d.endpoint_id = asked.endpoint_id AND d.attempts = asked.attempts
  AND d.state = 'queued'
RETURNING d.event_id, d.endpoint_id""")

_RELEASE: Final = statement(
    Delivery.update({Delivery.due_at: NOW, Delivery.set_aside_at: None})
    .where(Delivery.set_aside_at.is_not_null(), if_given(Delivery.event_id, "event_id"))
    .returning(Delivery.event_id)
)

# What is set aside, with the kind of its event.
_LIST: Final = sql("""
SELECT d.event_id, d.endpoint_id, v.kind FROM delivery d JOIN outbox_event v ON v.id = d.event_id
WHERE d.set_aside_at IS NOT NULL ORDER BY d.set_aside_at, d.event_id""")


async def set_aside(entries: Sequence[Entry]) -> list[tuple[str, str]]:
    """Set the deliveries of `entries` aside. Return their events and endpoints."""
    events, endpoints, attempts = (list(column) for column in zip(*(entry.key for entry in entries), strict=True))
    found = await _SET_ASIDE.rows(events=events, endpoints=endpoints, attempts=attempts)
    return [(row["event_id"], row["endpoint_id"]) for row in found]


async def release(event_id: str | None = None) -> int:
    """Let the deliveries that were set aside be tried again, of one event or all. Return how many there were."""
    return len(await _RELEASE.rows(event_id=event_id))


async def listed() -> list[tuple[str, str, str]]:
    """Return event, endpoint and kind of each, the oldest first."""
    return [tuple(row) for row in await _LIST.rows()]
