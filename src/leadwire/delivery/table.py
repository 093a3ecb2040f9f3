"""Deliveries (one per event and endpoint), attempts (one per POST), and hourly counts for plots.

What is still to be sent is in `delivery`, a small table; what has ended is in `delivery_result`, by day. A delivery is
in one of the two. These rows, not Redis, say what is still to be sent to whom.
"""

from typing import Final

from piccolo.columns import Array, BigInt, Boolean, Integer, SmallInt, Text, Timestamptz
from piccolo.table import Table

from leadwire.infrastructure.db import DB
from leadwire.infrastructure.db.declared import Declared

POSITION: Final = "(SELECT v.position FROM event v WHERE v.id = event_id)"
"""SQL: the place of a row's event, which has another one in each installation."""
ANEW: Final = {"position": "", "xact": "", "writer": ""}
"""Columns of an event that another installation numbers itself."""
_FETCHED: Final = "owner LIKE 'pull:%'"


class _Columns:
    """What is known of a delivery wherever it is. Key: (event_id, endpoint_id)."""

    event_id = Text(primary_key=True)
    endpoint_id = Text()
    workspace_id = Text()
    state = Text()
    attempts = SmallInt(default=0)  # of this generation; the fence of claim and record
    generation = SmallInt(default=1)  # +1 a redrive
    test = Boolean(default=False)
    created_at = Timestamptz()
    last_outcome = Text(null=True, default=None)
    sequence = BigInt(null=True, default=None)  # its number, where the endpoint is numbered; `worker.number`


class Delivery(_Columns, Table, db=DB, tablename="delivery"):
    """One event that is still to be sent to one endpoint: waiting or queued."""

    declared = Declared(
        of="event", fenced=False, by_hand="deletion erasure",
        moved={
            "position": f"CASE WHEN position IS NOT NULL THEN {POSITION} END",
            "state": f"CASE WHEN {_FETCHED} THEN state ELSE 'waiting' END",
            **{name: f"CASE WHEN {_FETCHED} THEN {name} END" for name in ("queued_at", "owner", "lease_until")},
        },
    )  # fmt: skip
    subject = Text(null=True, default=None)  # set where the endpoint wants order: one at a time within a subject
    position = BigInt(null=True, default=None)  # the event's, beside `subject`
    due_at = Timestamptz()  # infinity: behind another of its subject, or in quarantine
    retry_at = Timestamptz(null=True, default=None)  # when a retry that was put behind another is due at the earliest
    queued_at = Timestamptz(null=True, default=None)
    owner = Text(null=True, default=None)  # the worker that claimed it last
    lease_until = Timestamptz(null=True, default=None)  # until then no other worker may claim it
    set_aside_at = Timestamptz(null=True, default=None)  # in quarantine until an operator releases it


class DeliveryResult(_Columns, Table, db=DB, tablename="delivery_result"):
    """A delivery that has ended: delivered, dead or canceled. A redrive moves it back to `delivery`."""

    declared = Declared(of="event", fenced=False, by_hand="deletion erasure")
    finished_at = Timestamptz()


class EveryDelivery(_Columns, Table, db=DB, tablename="every_delivery"):
    """A view of both: for reading, never on the way of an event."""

    declared = Declared(
        of="event", view=True, part="deliveries", order="event_id, endpoint_id", hidden="due_at", anew="sequence"
    )
    exact_state = Text(null=True, default=None)  # `states.ExactState`
    due_at = Timestamptz()  # of one that has ended: when it did
    queued_at = Timestamptz(null=True, default=None)
    set_aside_at = Timestamptz(null=True, default=None)
    finished_at = Timestamptz(null=True, default=None)


class EndpointSequence(Table, db=DB, tablename="endpoint_sequence"):
    """The highest number that a delivery to an endpoint has. Made with the first."""

    declared = Declared(of="webhook_endpoint", by="endpoint_id")
    endpoint_id = Text(primary_key=True)
    last = BigInt()


class Attempt(Table, db=DB, tablename="attempt"):
    """One POST. `counted` is false when its outcome came too late to matter (another worker had recorded)."""

    declared = Declared(
        of="event", part="attempts", order="event_id, started_at, endpoint_id", by_hand="deletion erasure"
    )
    event_id = Text(primary_key=True)
    endpoint_id = Text()
    generation = SmallInt()  # of the delivery at that time
    number = SmallInt()
    counted = Boolean()
    started_at = Timestamptz()
    duration_ms = Integer()
    outcome = Text()
    http_status = SmallInt(null=True, default=None)
    error = Text(null=True, default=None)  # for operators
    response_body = Text(null=True, default=None)  # its first 2 KiB
    response_headers = Text(null=True, default=None)  # JSON: pairs of name and value, without secrets


class EndpointHour(Table, db=DB, tablename="endpoint_hour"):
    """Counts of one endpoint's attempts in one hour, for plots; `took` counts by duration (`worker.hourly_stats`)."""

    declared = Declared(of="webhook_endpoint", by="endpoint_id")
    endpoint_id = Text(primary_key=True)  # with hour
    hour = Timestamptz()
    delivered = Integer()
    failed = Integer()
    took = Array(base_column=Integer())
    last_at = Timestamptz()
    last_outcome = Text()
    first_delivered = Integer(default=0)  # of first attempts alone
    first_failed = Integer(default=0)
