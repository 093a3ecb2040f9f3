"""Looking endpoints and deliveries up. A workspace of None is an operator, who sees all."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from leadwire.delivery import table
from leadwire.delivery.endpoints.table import WebhookEndpoint
from leadwire.delivery.states import State
from leadwire.domain.webhooks import custom_headers
from leadwire.domain.webhooks.schema import Attempt, Delivery, DeliveryDetail, Endpoint
from leadwire.infrastructure import clock, db
from leadwire.infrastructure.db.statements import if_given, param, sql, statement
from leadwire.infrastructure.errors import NotFound

_COLUMNS: Final = (
    WebhookEndpoint.id,
    WebhookEndpoint.workspace_id,
    WebhookEndpoint.url,
    WebhookEndpoint.events,
    WebhookEndpoint.enabled,
    WebhookEndpoint.disabled_reason,
    WebhookEndpoint.ordered,
    WebhookEndpoint.rate_limit,
    WebhookEndpoint.headers,
    WebhookEndpoint.staged_at,
    WebhookEndpoint.failing_since,
    WebhookEndpoint.created_at,
)
_OF_WORKSPACE: Final = if_given(WebhookEndpoint.workspace_id, "workspace")
_ENDPOINTS: Final = statement(
    WebhookEndpoint.select(*_COLUMNS).where(_OF_WORKSPACE).order_by(WebhookEndpoint.created_at, WebhookEndpoint.id)
)
_ENDPOINT: Final = statement(WebhookEndpoint.select(*_COLUMNS).where(WebhookEndpoint.id == param("id"), _OF_WORKSPACE))
_ATTEMPTS: Final = statement(
    table.Attempt.select(
        table.Attempt.generation,
        table.Attempt.number,
        table.Attempt.counted,
        table.Attempt.started_at,
        table.Attempt.duration_ms,
        table.Attempt.outcome,
        table.Attempt.http_status,
        table.Attempt.error,
        table.Attempt.response_body,
    )
    .where(table.Attempt.event_id == param("event_id"), table.Attempt.endpoint_id == param("endpoint_id"))
    .order_by(table.Attempt.started_at)
)

_LISTED: Final = """d.event_id, d.endpoint_id, v.kind, d.state, d.attempts, d.last_outcome, v.occurred_at, d.due_at,
    d.finished_at"""
_OF: Final = """FROM delivery d JOIN outbox_event v ON v.id = d.event_id
    WHERE (:workspace::text IS NULL OR d.workspace_id = :workspace)
      AND (:endpoint_id::text IS NULL OR d.endpoint_id = :endpoint_id)"""
_DEAD: Final = f"""{_OF} AND d.state = 'dead' AND NOT d.test AND (:event_id::text IS NULL OR d.event_id = :event_id)"""
# Dead letters, and how many there are.
_DEAD_LETTERS: Final = sql(f"SELECT {_LISTED} {_DEAD} ORDER BY d.event_id DESC LIMIT :limit")
_DEAD_LETTERS_COUNT: Final = sql(f"SELECT count(*) {_DEAD}")
# One event's deliveries with the event.
_DELIVERIES: Final = sql(f"""
SELECT {_LISTED}, v.body, (SELECT url FROM webhook_endpoint e WHERE e.id = d.endpoint_id), d.test, d.drive,
    coalesce(v.lead_id, v.conversation_id), v.recorded_at, v.relayed_at, v.traceparent
{_OF} AND d.event_id = :event_id ORDER BY d.endpoint_id""")
# How the deliveries of some events stand; the range of ids leaves out the partitions of other days.
_STATES: Final = sql("""
SELECT event_id, endpoint_id, state, (SELECT url FROM webhook_endpoint e WHERE e.id = endpoint_id)
FROM delivery
WHERE workspace_id = :workspace AND event_id = ANY(:events) AND event_id >= :first AND event_id <= :last""")


async def endpoints(workspace: str | None) -> list[Endpoint]:
    """Return every endpoint, oldest first."""
    return [_endpoint(row) for row in await _ENDPOINTS.rows(workspace=workspace)]


async def endpoint(workspace: str | None, endpoint_id: str) -> Endpoint:
    """Return one endpoint. Raise NotFound."""
    found = await _ENDPOINT.row(id=endpoint_id, workspace=workspace)
    if found is None:
        raise NotFound(f"There is no endpoint {endpoint_id}.")
    return _endpoint(found)


async def dead_letters(
    workspace: str | None, endpoint_id: str | None = None, event_id: str | None = None, limit: int = 100
) -> tuple[list[Delivery], int]:
    """Return dead letters, newest first, and how many there are."""
    which = {"workspace": workspace, "endpoint_id": endpoint_id, "event_id": event_id}
    total = await _DEAD_LETTERS_COUNT.value(**which)
    return [_delivery(row) for row in await _DEAD_LETTERS.rows(**which, limit=limit)], total


async def deliveries_of(
    workspace: str | None, event_id: str, endpoint_id: str | None = None, *, awaited: bool = False
) -> list[DeliveryDetail]:
    """Return all about the deliveries of one event. Raise NotFound when there are none, unless they are `awaited`."""
    found = await _DELIVERIES.rows(workspace=workspace, event_id=event_id, endpoint_id=endpoint_id)
    if not found and not awaited:
        raise NotFound(f"There is no delivery of {event_id}.")
    return [await _with_history(row) for row in found]


async def _with_history(row: db.Row) -> DeliveryDetail:
    *listed, body, url, test, latest, subject, recorded_at, relayed_at, traceparent = row
    attempts = await _ATTEMPTS.rows(event_id=row["event_id"], endpoint_id=row["endpoint_id"])
    history = [
        Attempt(generation, number, counted, clock.iso(at), *rest)
        for generation, number, counted, at, *rest in attempts
    ]
    return DeliveryDetail(
        *_delivery_fields(listed),
        url=url,
        body=body,
        test=test,
        generation=latest,
        subject=subject,
        recorded_at=clock.iso(recorded_at),
        relayed_at=_iso(relayed_at),
        traceparent=traceparent,
        history=history,
    )


async def states_of(workspace: str, event_ids: Sequence[str]) -> dict[str, list[tuple[str, State, str | None]]]:
    """Return for each of these events that has deliveries: their endpoints, states, and the endpoints' URLs."""
    found = await _STATES.rows(
        workspace=workspace, events=event_ids, first=min(event_ids, default=""), last=max(event_ids, default="")
    )
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
