"""What became of a workspace's deliveries, a page at a time, newest first.

No index is kept for this: each delivery costs its writes already. Pages walk the newest events through the index of the
change feed and look at their deliveries by primary key; a filter that matches little looks at `LOOKED` events a page
and says how far it got. What is unfinished (the next `LOOKED` due), dead, or of one lead or conversation has an index.
"""

from datetime import datetime
from typing import Any, Final, Literal

from msgspec import Struct

from leadwire.delivery.envelope import KINDS
from leadwire.delivery.states import OUTCOMES as OUTCOMES  # noqa: PLC0414 - what a filter may name, for its readers
from leadwire.delivery.states import Outcome, State
from leadwire.infrastructure import db, ids
from leadwire.infrastructure.errors import InvalidParameter

LOOKED: Final = 500
Stage = Literal["delivered", "unfinished", "dead", "cancelled"]
_STATES: Final[dict[str, list[str]]] = {
    "delivered": ["delivered"],
    "unfinished": ["waiting", "queued"],
    "dead": ["dead"],
    "cancelled": ["cancelled"],
}

_SHOWN: Final = """d.event_id, d.endpoint_id, v.kind, d.state, d.attempts, d.last_outcome, v.occurred_at, d.due_at,
    d.finished_at, d.test, coalesce(v.lead_id, v.conversation_id) AS subject"""

# $1 workspace, $2 the last event seen, $3 since, $4 until (as ids), $5 how many events to look at
_NEWEST: Final = """
SELECT newest.id FROM unnest($6::text[]) AS wanted(kind), LATERAL (
    SELECT v.id, v.xact FROM outbox_event v
    WHERE v.workspace_id = $1 AND v.kind = wanted.kind AND v.id < $2 AND v.id >= $3 AND v.id < $4
    ORDER BY v.xact DESC LIMIT $5) AS newest
ORDER BY newest.id DESC LIMIT $5"""
_UNFINISHED: Final = """
SELECT DISTINCT d.event_id AS id FROM webhook_endpoint e, LATERAL (
    (SELECT event_id FROM delivery d WHERE d.endpoint_id = e.id AND d.state = 'waiting' ORDER BY d.due_at LIMIT $5)
    UNION ALL
    (SELECT event_id FROM delivery d WHERE d.endpoint_id = e.id AND d.state = 'queued' LIMIT $5)) AS d
WHERE e.workspace_id = $1 AND d.event_id < $2 AND d.event_id >= $3 AND d.event_id < $4 AND $6::text[] IS NOT NULL
ORDER BY id DESC LIMIT $5"""
_DEAD: Final = """
SELECT DISTINCT d.event_id AS id FROM webhook_endpoint e, LATERAL (
    SELECT d.event_id FROM delivery d WHERE d.workspace_id = $1 AND d.endpoint_id = e.id AND d.state = 'dead'
        AND d.event_id < $2 AND d.event_id >= $3 AND d.event_id < $4 ORDER BY d.event_id DESC LIMIT $5) AS d
WHERE e.workspace_id = $1 AND $6::text[] IS NOT NULL ORDER BY id DESC LIMIT $5"""
# Materialized: where sorting is off, the planner would sooner read every event there is, in the order of their ids.
_SUBJECT: Final = """
WITH about AS MATERIALIZED (
    SELECT id, kind FROM outbox_event WHERE workspace_id = $1 AND {column} = $7
) SELECT id FROM about WHERE id < $2 AND id >= $3 AND id < $4 AND kind = ANY($6) ORDER BY id DESC LIMIT $5"""


class Filter(Struct, frozen=True, kw_only=True):
    """What to look for; empty does not restrict. `subject` is a lead's or conversation's id; `since` is inclusive;
    `tests` are test events, too.
    """

    endpoint_id: str = ""
    stage: str = ""
    kind: str = ""
    outcome: str = ""
    subject: str = ""
    since: datetime | None = None
    until: datetime | None = None
    tests: bool = True


class ListedDelivery(Struct, frozen=True):
    """One delivery in a list."""

    event_id: str
    endpoint_id: str
    kind: str
    state: State
    attempts: int
    last_outcome: Outcome | None
    occurred_at: datetime
    due_at: datetime
    finished_at: datetime | None
    test: bool
    subject: str | None
    url: str | None
    took: int | None
    http_status: int | None
    """Of the last attempt: milliseconds, and the answer's status if there was one."""


class Page(Struct, frozen=True):
    """Deliveries, and where the next page begins; `looked` events were looked at for them."""

    rows: list[ListedDelivery]
    after: str | None
    looked: int


async def page(workspace: str, wanted: Filter, after: str = "", limit: int = 50) -> Page:
    """A page of the deliveries that match, those of newer events first. Raises InvalidParameter."""
    _check(wanted, after)
    narrow = bool(wanted.endpoint_id or wanted.stage or wanted.outcome)
    number = LOOKED if narrow else limit + 1
    events = [row["id"] for row in await _events(workspace, wanted, after, number)]
    if not events:
        return Page([], None, 0)
    found = await db.rows(
        f"""SELECT {_SHOWN}, e.url, last.duration_ms, last.http_status
            FROM delivery d JOIN outbox_event v ON v.id = d.event_id
            LEFT JOIN webhook_endpoint e ON e.id = d.endpoint_id
            LEFT JOIN LATERAL (SELECT a.duration_ms, a.http_status FROM attempt a WHERE a.event_id = d.event_id
                AND a.endpoint_id = d.endpoint_id ORDER BY a.started_at DESC LIMIT 1) AS last ON true
            WHERE d.event_id = ANY($2) AND v.id = ANY($2) AND d.workspace_id = $1 AND d.event_id >= $7
              AND ($3 = '' OR d.endpoint_id = $3) AND ($4::text[] IS NULL OR d.state = ANY($4))
              AND ($5 = '' OR d.last_outcome = $5) AND ($8 OR NOT d.test)
            ORDER BY d.event_id DESC, d.endpoint_id LIMIT $6""",
        workspace, events, wanted.endpoint_id, _STATES.get(wanted.stage), wanted.outcome, limit + 1, events[-1],
        wanted.tests,
    )  # fmt: skip
    rows = [ListedDelivery(*row) for row in found]
    if len(rows) > limit:  # never break an event's deliveries in two: the cursor is an event
        whole = [row for row in rows[: limit + 1] if row.event_id != rows[limit].event_id]
        rows = whole or rows
        return Page(rows, rows[-1].event_id, len(events))
    goes_on = len(events) == number and wanted.stage != "unfinished"
    return Page(rows, events[-1] if goes_on else None, len(events))


async def _events(workspace: str, wanted: Filter, after: str, number: int) -> list[db.Row]:
    span = (
        after or "evu",  # after every event id
        ids.floor("evt", wanted.since) if wanted.since else "evt_",
        ids.floor("evt", wanted.until) if wanted.until else "evu",
    )
    kinds = [wanted.kind] if wanted.kind else list(KINDS)
    if wanted.subject:
        column = "lead_id" if wanted.subject.startswith("lead_") else "conversation_id"
        sql = _SUBJECT.format(column=column)
        return await db.rows(sql, workspace, *span, number, kinds, wanted.subject)
    sql = {"unfinished": _UNFINISHED, "dead": _DEAD}.get(wanted.stage, _NEWEST)
    return await db.rows(sql, workspace, *span, number, kinds)


def _check(wanted: Filter, after: str) -> None:
    known: dict[str, tuple[str, Any]] = {
        "stage": (wanted.stage, _STATES),
        "kind": (wanted.kind, KINDS),
        "outcome": (wanted.outcome, OUTCOMES),
    }
    for name, (value, values) in known.items():
        if value and value not in values:
            raise InvalidParameter(f"`{name}` is one of {', '.join(values)}.")
    if after and not ids.is_id("evt", after):
        raise InvalidParameter("`after` is not a place in this list.")
