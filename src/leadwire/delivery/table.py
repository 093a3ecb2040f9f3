"""Deliveries (one row per event and endpoint), attempts (one per POST), and hourly counts for plots.

These rows, not Redis, say what is still to be sent to whom.
"""

from piccolo.columns import Array, BigInt, Boolean, Integer, SmallInt, Text, Timestamptz
from piccolo.table import Table

from leadwire.infrastructure.db import DB


class Delivery(Table, db=DB, tablename="delivery"):
    """One event to be sent to one endpoint. Key: (event_id, endpoint_id)."""

    event_id = Text(primary_key=True)
    endpoint_id = Text()
    workspace_id = Text()
    state = Text()
    attempts = SmallInt(default=0)  # of this generation; the fence of claim and record
    generation = SmallInt(default=1, db_column_name="drive")  # +1 a redrive; to rename the column takes a migration
    test = Boolean(default=False)
    subject = Text(null=True, default=None)  # set where the endpoint wants order: one at a time within a subject
    position = BigInt(null=True, default=None)  # the event's, beside `subject`
    due_at = Timestamptz()
    queued_at = Timestamptz(null=True, default=None)
    finished_at = Timestamptz(null=True, default=None)
    set_aside_at = Timestamptz(null=True, default=None)  # in quarantine until an operator releases it
    last_outcome = Text(null=True, default=None)


class Attempt(Table, db=DB, tablename="attempt"):
    """One POST. `counted` is false when its outcome came too late to matter (another worker had recorded)."""

    event_id = Text(primary_key=True)
    endpoint_id = Text()
    generation = SmallInt(db_column_name="drive")  # of the delivery at that time
    number = SmallInt()
    counted = Boolean()
    started_at = Timestamptz()
    duration_ms = Integer()
    outcome = Text()
    http_status = SmallInt(null=True, default=None)
    error = Text(null=True, default=None)  # for operators
    response_body = Text(null=True, default=None)  # its first 2 KiB


class EndpointHour(Table, db=DB, tablename="endpoint_hour"):
    """Counts of one endpoint's attempts in one hour, for plots; `took` counts by duration (`worker.hourly_stats`)."""

    endpoint_id = Text(primary_key=True)  # with hour
    hour = Timestamptz()
    delivered = Integer()
    failed = Integer()
    took = Array(base_column=Integer())
    last_at = Timestamptz()
    last_outcome = Text()
