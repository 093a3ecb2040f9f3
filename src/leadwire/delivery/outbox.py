"""The outbox: what happened, written in the transaction that makes it true. Here and nowhere else.

Either `Event.record` inside the transaction of the change, or `Event.record_with`, which makes the change and its
event one statement. There is no third way in, so neither can exist without the other.
"""

import functools
import time
from datetime import datetime

import msgspec
from piccolo.columns import BigInt, Column, Text, Timestamptz
from piccolo.table import Table

from leadwire.delivery import envelope, metrics, wakeup
from leadwire.delivery.envelope import EventKind
from leadwire.infrastructure import db, ids, telemetry
from leadwire.infrastructure.db import DB
from leadwire.infrastructure.db.statements import Statement


class Xid8(Column):
    """PostgreSQL's 64-bit transaction id, for which Piccolo has no column."""

    value_type = int

    @property
    def column_type(self) -> str:
        return "XID8"


class OutboxEvent(Table, db=DB, tablename="outbox_event"):
    """One event. `body` is the text that is signed and sent, to the letter."""

    id = Text(primary_key=True)
    workspace_id = Text()
    kind = Text()
    conversation_id = Text(null=True, default=None)  # these two say whom it is about, for erasure
    lead_id = Text(null=True, default=None)
    subject = Text(null=True, default=None)  # within which order is kept: its conversation, or else its lead
    position = BigInt()  # taken while the subject's row is locked, so it is the order of its changes on any host
    body = Text()
    test_endpoint_id = Text(null=True, default=None)  # a test event goes to this endpoint alone
    occurred_at = Timestamptz()
    traceparent = Text(null=True, default=None)
    xact = Xid8()  # who wrote it: makes exact totals and a gap-free feed possible
    recorded_at = Timestamptz()
    relayed_at = Timestamptz(null=True, default=None)  # null: not yet fanned out


_COLUMNS = "id, workspace_id, kind, conversation_id, lead_id, subject, body, occurred_at, traceparent, test_endpoint_id"
_TYPES = ("text", "text", "text", "text", "text", "text", "text", "timestamptz", "text", "text")


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
        start = time.perf_counter()
        values = self._values()
        await db.rows(_insert(None), *values)
        self._when_committed(values[0], start)
        return values[0]

    async def record_with(self, change: Statement, **values: object) -> bool:
        """Run `change` (an UPDATE or DELETE of one row) with `values` and record the event, in a single statement.

        Return False, and record nothing, when there was no such row.
        """
        start = time.perf_counter()
        event = self._values()
        made = await DB.fetch(_insert(change), [*change.arguments(values), *event])
        if made:
            self._when_committed(event[0], start)
        return bool(made)

    def _when_committed(self, event_id: str, start: float) -> None:
        db.after_commit(wakeup.wake_relay)
        db.after_commit(functools.partial(metrics.committed, self.kind, start))
        db.after_commit(functools.partial(telemetry.recorded, self.workspace, event_id))

    def _values(self) -> tuple[str, *tuple[object, ...]]:
        return (
            ids.new("evt"),
            self.workspace,
            self.kind,
            self.conversation_id,
            self.lead_id,
            self.subject or self.conversation_id or self.lead_id,
            envelope.encode(self.kind, self.at, self.data),
            self.at,
            telemetry.traceparent(),
            self.test_endpoint_id,
        )


@functools.cache  # one text for each change that exists in the code
def _insert(change: Statement | None) -> str:
    taken = len(change.names) if change else 0
    values = ", ".join(f"${place}::{kind}" for place, kind in enumerate(_TYPES, taken + 1))
    if change is None:
        return f"INSERT INTO outbox_event ({_COLUMNS}) VALUES ({values})"
    return f"""WITH change AS ({change.text} RETURNING 1)
        INSERT INTO outbox_event ({_COLUMNS}) SELECT {values} FROM change RETURNING 1"""
