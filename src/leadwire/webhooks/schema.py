"""Endpoints, deliveries and attempts as operators and pages see them."""

from msgspec import Struct

from leadwire.wire.states import Outcome, State


class Endpoint(Struct, frozen=True):
    """A webhook endpoint. Its secret is shown only when it is made."""

    id: str
    workspace_id: str
    url: str
    events: list[str]
    enabled: bool
    disabled_reason: str | None
    failing_since: str | None
    created_at: str


class NewEndpoint(Endpoint, frozen=True, kw_only=True):
    """An endpoint just made, with its secret, this once."""

    secret: str


class Attempt(Struct, frozen=True):
    """One POST."""

    drive: int
    number: int
    counted: bool
    started_at: str
    duration_ms: int
    outcome: Outcome
    http_status: int | None
    error: str | None
    response_body: str | None


class Delivery(Struct, frozen=True):
    """One event owed to one endpoint."""

    event_id: str
    endpoint_id: str
    event: str
    state: State
    attempts: int
    last_outcome: Outcome | None
    occurred_at: str
    due_at: str
    finished_at: str | None


class DeliveryDetail(Delivery, frozen=True, kw_only=True):
    """A delivery with everything that is known of it."""

    url: str | None
    body: str
    history: list[Attempt]
