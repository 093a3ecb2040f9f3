"""The outbox: what happened, written in the transaction that makes it true. Here and nowhere else.

Either `Event.record` inside the transaction of the change, or `Event.record_with`, which makes the change and its
event one statement. There is no third way in, so neither can exist without the other. The event's deliveries are part
of the same statement, or a row of `outbox` is, for which the relay makes them.
"""

import functools
import time
from collections.abc import Mapping
from datetime import datetime
from typing import Final

import msgspec
from piccolo.columns import BigInt, Column, Text, Timestamptz
from piccolo.table import Table

from leadwire.delivery import envelope, metrics, push
from leadwire.delivery.envelope import EventKind
from leadwire.delivery.streams import Key
from leadwire.infrastructure import db, ids, telemetry
from leadwire.infrastructure.db import DB
from leadwire.infrastructure.db.statements import Statement, sql


class Xid8(Column):
    """PostgreSQL's 64-bit transaction id, for which Piccolo has no column."""

    value_type = int

    @property
    def column_type(self) -> str:
        return "XID8"


class RecordedEvent(Table, db=DB, tablename="event"):
    """One event. Its row is written once; only an erasure blanks the body."""

    id = Text(primary_key=True)
    workspace_id = Text()
    kind = Text()
    conversation_id = Text(null=True, default=None)  # these two say whom it is about, for erasure
    lead_id = Text(null=True, default=None)
    subject = Text(null=True, default=None)  # within which order is kept: its conversation, or else its lead
    position = BigInt()  # taken while the subject's row is locked, so it is the order of its changes on any host
    body = Text()  # the text that is signed and sent, to the letter
    test_endpoint_id = Text(null=True, default=None)  # a test event goes to this endpoint alone
    occurred_at = Timestamptz()
    traceparent = Text(null=True, default=None)
    xact = Xid8()  # who wrote it: makes exact totals and a gap-free feed possible
    recorded_at = Timestamptz()


class Outbox(Table, db=DB, tablename="outbox"):
    """An event whose deliveries the relay has still to make. It deletes the row when it has."""

    event_id = Text(primary_key=True)
    workspace_id = Text()
    kind = Text()
    subject = Text(null=True, default=None)
    position = BigInt()
    test_endpoint_id = Text(null=True, default=None)
    recorded_at = Timestamptz()


DIRECT: Final = 16
"""An event that so many endpoints want, or fewer, gets its deliveries in the statement that records it."""
_QUICK: Final = 8  # queued deliveries of an endpoint that has fewer take the quick stream

# Run a change and record its event, if the change changed a row. Where few endpoints want it and each is open, their
# deliveries are made and queued at once; else the relay makes them (`relay.fan_out`). No endpoint is locked: that one
# was removed meanwhile is seen when a worker claims the delivery. What is queued is counted from its newest end: at the
# other there are entries of the index that are dead.
_RECORD: Final = """
WITH {change}event AS (
    INSERT INTO event (id, workspace_id, kind, conversation_id, lead_id, subject, body, occurred_at, traceparent,
        test_endpoint_id)
    SELECT :id::text, :workspace::text, :kind::text, :conversation_id::text, :lead_id::text, :subject::text,
        :body::text, :occurred_at::timestamptz, :traceparent::text, :test_endpoint_id::text {source}
    RETURNING id, workspace_id, kind, subject, position, test_endpoint_id, recorded_at
), subscriber AS (
    SELECT e.id, e.open, (SELECT count(*) FROM (SELECT 1 FROM delivery d
        WHERE d.endpoint_id = e.id AND d.state = 'queued' ORDER BY d.event_id DESC LIMIT {quick}) found) AS queued
    FROM webhook_endpoint e
    WHERE e.workspace_id = :workspace::text AND e.enabled AND :kind::text = ANY(e.events) LIMIT {most} + 1
), way AS (
    SELECT :direct::bool AND :test_endpoint_id::text IS NULL AND count(*) <= {most}
        AND coalesce(bool_and(open), true) AS direct, count(*) AS endpoints FROM subscriber
), delivery AS (
    INSERT INTO delivery (event_id, endpoint_id, workspace_id, state, due_at, queued_at)
    SELECT event.id, subscriber.id, event.workspace_id, 'queued', now(), now() FROM event, subscriber, way
    WHERE way.direct RETURNING endpoint_id
), outbox AS (
    INSERT INTO outbox (event_id, workspace_id, kind, subject, position, test_endpoint_id, recorded_at)
    SELECT event.* FROM event, way
    WHERE NOT way.direct AND (way.endpoints > 0 OR :test_endpoint_id::text IS NOT NULL) RETURNING 1
)
SELECT ARRAY(SELECT id FROM delivery JOIN subscriber ON id = endpoint_id WHERE queued < {quick}) AS quick,
    ARRAY(SELECT id FROM delivery JOIN subscriber ON id = endpoint_id WHERE queued >= {quick}) AS others,
    EXISTS (SELECT 1 FROM outbox) AS left_to_relay FROM event"""


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened to `data`, at `at`, in a workspace.

    `subject` need only be given where neither the conversation nor the lead may be named.
    """

    workspace: str
    kind: EventKind
    at: datetime
    data: object
    conversation_id: str | None = None
    lead_id: str | None = None
    subject: str | None = None
    test_endpoint_id: str | None = None

    async def record(self) -> str:
        """Note it in the open transaction; answers its id.

        Raise RuntimeError outside a transaction: an event must not exist without its change.
        """
        if not db.in_transaction():
            raise RuntimeError(f"{self.kind} recorded outside the transaction of its change")
        return (await self._run(None, {}))[0]

    async def record_with(self, change: Statement, **values: object) -> bool:
        """Run `change` (an UPDATE or DELETE of one row) with `values` and record the event, in a single statement.

        Return False, and record nothing, when there was no such row.
        """
        return (await self._run(change, values))[1]

    async def _run(self, change: Statement | None, values: Mapping[str, object]) -> tuple[str, bool]:
        """Return the event's id, and whether it was recorded."""
        event_id, recording = ids.new("evt"), _recording(change)
        event = recording.arguments(self._values(event_id))
        start = time.perf_counter()
        made = await DB.fetch(recording.text, [*change.arguments(values), *event] if change else event)
        if not made:
            return event_id, False
        ((quick, others, left_to_relay),) = made
        for endpoints, is_quick in ((quick, True), (others, False)):
            if endpoints:
                keys = [Key(event_id, endpoint_id, 0) for endpoint_id in endpoints]
                db.after_commit(functools.partial(push.push, keys, quick=is_quick))
        if left_to_relay:
            db.after_commit(push.wake_relay)
        db.after_commit(functools.partial(metrics.committed, self.kind, start, relayed=not left_to_relay))
        db.after_commit(functools.partial(telemetry.recorded, self.workspace, event_id))
        return event_id, True

    def _values(self, event_id: str) -> dict[str, object]:
        return {
            "id": event_id,
            "workspace": self.workspace,
            "kind": self.kind,
            "conversation_id": self.conversation_id,
            "lead_id": self.lead_id,
            "subject": self.subject or self.conversation_id or self.lead_id,
            "body": envelope.encode(self.kind, self.at, self.data),
            "occurred_at": self.at,
            "traceparent": telemetry.traceparent(),
            "test_endpoint_id": self.test_endpoint_id,
            "direct": push.is_open(),
        }


@functools.cache  # one for each change that exists in the code
def _recording(change: Statement | None) -> Statement:
    """The statement that makes a change and records its event: first the change's own values, then those of `names`."""
    before = f"change AS ({change.text} RETURNING 1), " if change else ""
    text = _RECORD.format(change=before, source="FROM change" if change else "", most=DIRECT, quick=_QUICK)
    return sql(text, after=len(change.names) if change else 0)
