"""The table of webhook endpoints."""

from typing import Final

from piccolo.columns import Array, Boolean, Bytea, DoublePrecision, Integer, SmallInt, Text, Timestamptz
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
    admission_window = SmallInt(default=64)  # deliveries that may be queued at a time, see worker.window
    failing_since = Timestamptz(null=True, default=None)
    failures = Integer(default=0)  # failed attempts since then
    created_at = Timestamptz()
    updated_at = Timestamptz()


SEALED: Final = (WebhookEndpoint.secret, WebhookEndpoint.staged_secret, WebhookEndpoint.headers)
"""Columns that `secret_box` seals."""
