"""The ledger: where events go (endpoints), one row per event and endpoint (deliveries), one per POST (attempts).

These rows, not Redis, say what is owed to whom.
"""

from typing import Final

from piccolo.columns import Array, BigInt, Boolean, Bytea, DoublePrecision, Integer, SmallInt, Text, Timestamptz
from piccolo.table import Table

from leadwire.infrastructure.db import DB


class WebhookEndpoint(Table, db=DB, tablename="webhook_endpoint"):
    """A customer's URL and what it subscribes to. Made disabled; disabled by the system only with a reason."""

    id = Text(primary_key=True)
    workspace_id = Text()
    url = Text()
    events = Array(Text())
    enabled = Boolean(default=False)
    disabled_reason = Text(null=True, default=None)
    secret = Bytea()  # sealed, see secret_box
    staged_secret = Bytea(null=True, default=None)  # the next one, during a rotation
    staged_at = Timestamptz(null=True, default=None)
    headers = Bytea(null=True, default=None)  # the customer's own, sealed JSON: they may hold a password
    ordered = Boolean(default=False)
    rate_limit = Integer(null=True, default=None)  # deliveries a minute
    rate_tokens = DoublePrecision(default=0)  # the bucket of that limit, as it was at `rate_at`
    rate_at = Timestamptz(null=True, default=None)
    admission_window = SmallInt(default=64)  # deliveries that may be queued at a time, see relay.window
    failing_since = Timestamptz(null=True, default=None)
    failures = Integer(default=0)  # attempts that failed since then
    created_at = Timestamptz()
    updated_at = Timestamptz()


class Delivery(Table, db=DB, tablename="delivery"):
    """One event owed to one endpoint. Key: (event_id, endpoint_id)."""

    event_id = Text(primary_key=True)
    endpoint_id = Text()
    workspace_id = Text()
    state = Text()
    attempts = SmallInt(default=0)  # of this drive: 0 to one more than there are retries; the fence of claim and record
    drive = SmallInt(default=1)  # +1 a redrive
    test = Boolean(default=False)
    subject = Text(null=True, default=None)  # set where the endpoint wants order: one at a time within a subject
    position = BigInt(null=True, default=None)  # the event's, beside `subject`
    due_at = Timestamptz()
    queued_at = Timestamptz(null=True, default=None)
    finished_at = Timestamptz(null=True, default=None)
    set_aside_at = Timestamptz(null=True, default=None)  # waits for an operator: no worker survived it
    last_outcome = Text(null=True, default=None)


class Attempt(Table, db=DB, tablename="attempt"):
    """One POST. `counted` is false when its outcome came too late to matter (another worker had recorded)."""

    event_id = Text(primary_key=True)
    endpoint_id = Text()
    drive = SmallInt()
    number = SmallInt()
    counted = Boolean()
    started_at = Timestamptz()
    duration_ms = Integer()
    outcome = Text()
    http_status = SmallInt(null=True, default=None)
    error = Text(null=True, default=None)  # for operators
    response_body = Text(null=True, default=None)  # its first 2 KiB


class EndpointHour(Table, db=DB, tablename="endpoint_hour"):
    """Figures of one endpoint's attempts in one hour, for plots; `took` counts them by duration (`deliver.tally`)."""

    endpoint_id = Text(primary_key=True)  # with hour
    hour = Timestamptz()
    delivered = Integer()
    failed = Integer()
    took = Array(base_column=Integer())
    last_at = Timestamptz()
    last_outcome = Text()


SEALED: Final = (WebhookEndpoint.secret, WebhookEndpoint.staged_secret, WebhookEndpoint.headers)
"""Columns that `secret_box` seals."""
