"""Looking endpoints and deliveries up. A workspace of None is an operator, who sees all."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from leadwire.delivery.states import State
from leadwire.domain.webhooks import custom_headers
from leadwire.domain.webhooks.schema import Attempt, Delivery, DeliveryDetail, Endpoint
from leadwire.infrastructure import clock, db
from leadwire.infrastructure.errors import NotFound

_ENDPOINT: Final = """id, workspace_id, url, events, enabled, disabled_reason, ordered, rate_limit, headers, staged_at,
    failing_since, created_at"""
_DELIVERY: Final = """d.event_id, d.endpoint_id, v.kind, d.state, d.attempts, d.last_outcome, v.occurred_at, d.due_at,
    d.finished_at"""
_STORY: Final = """v.body, (SELECT url FROM webhook_endpoint e WHERE e.id = d.endpoint_id), d.test, d.drive,
    coalesce(v.lead_id, v.conversation_id), v.recorded_at, v.relayed_at, v.traceparent"""
_JOINED: Final = """FROM delivery d JOIN outbox_event v ON v.id = d.event_id
    WHERE ($1::text IS NULL OR d.workspace_id = $1)"""


async def endpoints(workspace: str | None) -> list[Endpoint]:
    """Every endpoint, oldest first."""
    found = await db.rows(
        f"SELECT {_ENDPOINT} FROM webhook_endpoint WHERE $1::text IS NULL OR workspace_id = $1 ORDER BY created_at, id",
        workspace,
    )
    return [_endpoint(row) for row in found]


async def endpoint(workspace: str | None, endpoint_id: str) -> Endpoint:
    """One endpoint. Raises NotFound."""
    found = await db.row(
        f"SELECT {_ENDPOINT} FROM webhook_endpoint WHERE id = $2 AND ($1::text IS NULL OR workspace_id = $1)",
        workspace,
        endpoint_id,
    )
    if found is None:
        raise NotFound(f"There is no endpoint {endpoint_id}.")
    return _endpoint(found)


async def dead_letters(
    workspace: str | None, endpoint_id: str | None = None, event_id: str | None = None, limit: int = 100
) -> tuple[list[Delivery], int]:
    """Dead letters, newest first, and how many there are."""
    where = f"{_JOINED} AND d.state = 'dead' AND NOT d.test AND ($2::text IS NULL OR d.endpoint_id = $2)"
    where += " AND ($3::text IS NULL OR d.event_id = $3)"
    total = await db.value(f"SELECT count(*) {where}", workspace, endpoint_id, event_id)
    found = await db.rows(
        f"SELECT {_DELIVERY} {where} ORDER BY d.event_id DESC LIMIT $4", workspace, endpoint_id, event_id, limit
    )
    return [_delivery(row) for row in found], total


async def deliveries_of(
    workspace: str | None, event_id: str, endpoint_id: str | None = None, *, awaited: bool = False
) -> list[DeliveryDetail]:
    """Everything about the deliveries of one event. Raises NotFound when there are none, unless they are `awaited`."""
    found = await db.rows(
        f"""SELECT {_DELIVERY}, {_STORY} {_JOINED}
              AND d.event_id = $2 AND ($3::text IS NULL OR d.endpoint_id = $3) ORDER BY d.endpoint_id""",
        workspace,
        event_id,
        endpoint_id,
    )
    if not found and not awaited:
        raise NotFound(f"There is no delivery of {event_id}.")
    return [await _with_history(row) for row in found]


async def _with_history(row: db.Row) -> DeliveryDetail:
    *listed, body, url, test, drive, subject, recorded_at, relayed_at, traceparent = row
    attempts = await db.rows(
        """SELECT drive, number, counted, started_at, duration_ms, outcome, http_status, error, response_body
           FROM attempt WHERE event_id = $1 AND endpoint_id = $2 ORDER BY started_at""",
        row["event_id"],
        row["endpoint_id"],
    )
    history = [Attempt(drive, number, counted, clock.iso(at), *rest) for drive, number, counted, at, *rest in attempts]
    return DeliveryDetail(
        *_delivery_fields(listed),
        url=url,
        body=body,
        test=test,
        drive=drive,
        subject=subject,
        recorded_at=clock.iso(recorded_at),
        relayed_at=_iso(relayed_at),
        traceparent=traceparent,
        history=history,
    )


async def states_of(workspace: str, event_ids: Sequence[str]) -> dict[str, list[tuple[str, State, str | None]]]:
    """For each of these events that was owed to anybody: the endpoints, how the delivery stands, and their URLs."""
    found = await db.rows(
        """SELECT event_id, endpoint_id, state, (SELECT url FROM webhook_endpoint e WHERE e.id = endpoint_id)
           FROM delivery WHERE workspace_id = $1 AND event_id = ANY($2) AND event_id >= $3 AND event_id <= $4""",
        workspace, event_ids, min(event_ids, default=""), max(event_ids, default=""),
    )  # fmt: skip
    states: dict[str, list[tuple[str, State, str | None]]] = {}
    for event_id, *delivery in found:
        states.setdefault(event_id, []).append(tuple(delivery))
    return states


def _endpoint(row: Any) -> Endpoint:
    id_, workspace, url, events, enabled, reason, ordered, rate, own, staged_at, failing_since, created_at = row
    names, since = list(custom_headers.opened(own)), _iso(failing_since)
    return Endpoint(
        id_,
        workspace,
        url,
        events,
        enabled,
        reason,
        ordered,
        rate,
        names,
        _iso(staged_at),
        since,
        clock.iso(created_at),
    )


def _delivery(row: Any) -> Delivery:
    return Delivery(*_delivery_fields(row))


def _delivery_fields(row: Any) -> tuple[Any, ...]:
    *fields, occurred_at, due_at, finished_at = row
    return *fields, clock.iso(occurred_at), clock.iso(due_at), _iso(finished_at)


def _iso(moment: datetime | None) -> str | None:
    return clock.iso(moment) if moment else None
