"""The table of webhook endpoints."""

from typing import Final

from piccolo.columns import Array, Boolean, Bytea, DoublePrecision, Integer, SmallInt, Text, Timestamptz
from piccolo.table import Table

from leadwire.infrastructure.db import DB

LARGEST_WINDOW: Final = 256
"""Deliveries of an endpoint that may be queued at a time, unless a worker could not hold so many."""


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
    numbered = Boolean(default=False)  # its deliveries carry numbers without gaps
    rate_limit = Integer(null=True, default=None)  # deliveries a minute
    rate_tokens = DoublePrecision(default=0)  # the bucket of that limit, as it was at `rate_at`
    rate_at = Timestamptz(null=True, default=None)
    open = Boolean(default=False)  # a change may queue deliveries itself: nothing waits, no order, no rate
    due_at = Timestamptz()  # when the relay has to look at what waits; infinity: when something is added
    paused_until = Timestamptz(null=True, default=None)  # as its receiver asked for with Retry-After
    admission_window = SmallInt(default=LARGEST_WINDOW)  # deliveries that may be queued at a time
    failing_since = Timestamptz(null=True, default=None)
    failures = Integer(default=0)  # failed attempts since then
    created_at = Timestamptz()
    updated_at = Timestamptz()


SEALED: Final = (WebhookEndpoint.secret, WebhookEndpoint.staged_secret, WebhookEndpoint.headers)
"""Columns that `secret_box` seals."""
