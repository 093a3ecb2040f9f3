"""The outbox: what happened, written in the transaction that makes it true. Here and nowhere else.

Either `Event.record` inside the transaction of the change, or `Event.record_with`, which makes the change and its
event one statement. There is no third way in, so neither can exist without the other. The event's deliveries are part
of the same statement, or a row of `outbox` is, for which the relay makes them; or neither, when no endpoint wants it.
"""

import functools
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple

import msgspec
from piccolo.columns import BigInt, Column, Text, Timestamptz
from piccolo.table import Table

from leadwire.delivery import envelope, metrics
from leadwire.delivery.envelope import AuditKind, EventKind, Unsent
from leadwire.delivery.feed import wakes
from leadwire.delivery.streams import Key, push
from leadwire.infrastructure import actor, db, ids, telemetry
from leadwire.infrastructure.db import DB, Row
from leadwire.infrastructure.db.gather import Gathered
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
    position = BigInt()  # taken while the changed row is locked, so it is the order of its changes on any host
    body = Text()  # the text that is signed and sent, to the letter
    test_endpoint_id = Text(null=True, default=None)  # a test event goes to this endpoint alone
    occurred_at = Timestamptz()
    traceparent = Text(null=True, default=None)
    xact = Xid8()  # its place in the feed: behind all that was committed before it was recorded
    recorded_at = Timestamptz()
    actor = Text(null=True, default=None)  # who made the change: a user, an API key, or `visitor`
    writer = Xid8(null=True, default=None)  # the transaction, for exact totals; None before 2026-11-23: `xact` says it


class Outbox(Table, db=DB, tablename="outbox"):
    """An event whose deliveries the relay has still to make. It deletes the row when it has."""

    event_id = Text(primary_key=True)
    workspace_id = Text()
    kind = Text()
    subject = Text(null=True, default=None)
    position = BigInt()
    test_endpoint_id = Text(null=True, default=None)
    recorded_at = Timestamptz()
    set_aside_at = Timestamptz(null=True, default=None)  # its deliveries cannot be made; until an operator releases it
    error = Text(null=True, default=None)  # why


DIRECT: Final = 16
"""An event that so many endpoints want, or fewer, gets its deliveries in the statement that records it."""

_GIVEN: Final = {
    "id": "text", "workspace": "text", "kind": "text", "conversation_id": "text", "lead_id": "text", "subject": "text",
    "body": "text", "occurred_at": "timestamptz", "traceparent": "text", "test_endpoint_id": "text",
    "actor": "text",
}  # fmt: skip

# Make changes and record the event of each that changed a row. Where few endpoints want it and each is open, its
# deliveries are made and queued at once; else the relay makes them (`relay.fan_out`). No endpoint is locked: that one
# was removed meanwhile is seen when a worker claims the delivery.
_RECORD: Final = f"""
WITH {{change}}event AS (
    INSERT INTO event (id, workspace_id, kind, conversation_id, lead_id, subject, body, occurred_at, traceparent,
        test_endpoint_id, actor)
    SELECT given.* FROM unnest({", ".join(f":{name}::{type_}[]" for name, type_ in _GIVEN.items())}) AS given (id)
    {{changed}} RETURNING id, workspace_id, kind, subject, position, test_endpoint_id, recorded_at
), way AS (
    SELECT event.*, endpoints, cardinality(endpoints) > 0 OR test_endpoint_id IS NOT NULL AS wanted,
        :direct::bool AND test_endpoint_id IS NULL AND cardinality(endpoints) <= {DIRECT} AND open AS direct
    FROM event CROSS JOIN LATERAL (
        SELECT coalesce(array_agg(id), '{{{{}}}}') AS endpoints, coalesce(bool_and(open), true) AS open FROM (
            SELECT e.id, e.open FROM webhook_endpoint e
            WHERE e.workspace_id = event.workspace_id AND e.enabled AND event.kind = ANY(e.events) LIMIT {DIRECT} + 1
        ) e
    ) subscribers
), delivery AS (
    INSERT INTO delivery (event_id, endpoint_id, workspace_id, state, due_at, queued_at)
    SELECT way.id, endpoint_id, workspace_id, 'queued', now(), now() FROM way, unnest(endpoints) AS endpoint_id
    WHERE direct
), outbox AS (
    INSERT INTO outbox (event_id, workspace_id, kind, subject, position, test_endpoint_id, recorded_at)
    SELECT id, workspace_id, kind, subject, position, test_endpoint_id, recorded_at FROM way WHERE wanted AND NOT direct
)
SELECT id, CASE WHEN direct THEN endpoints END AS queued, wanted AND NOT direct AS left_to_relay FROM way"""


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened to `data`, at `at`, in a workspace.

    `subject` need only be given where neither the conversation nor the lead may be named.
    """

    workspace: str
    kind: EventKind | AuditKind | Unsent
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
        """Change a row and record the event, in a single statement. Outside a transaction, others may share it.

        `change` takes a list for each of `values`, and one of `event`, their ids. It returns the ids of those whose
        row it has changed. Return False, and record nothing, when this one is not among them.
        """
        return (await self._run(change, values))[1]

    async def _run(self, change: Statement | None, values: Mapping[str, object]) -> tuple[str, bool]:
        """Return the event's id, and whether it was recorded."""
        event_id, start = ids.new("evt"), time.perf_counter()
        member = _Member({**values, "event": event_id}, self._values(event_id))
        if change is None or db.in_transaction():
            (made,) = await _write(change, [member])
        else:
            made = await _gathered(change)(member)
        if made is None:
            return event_id, False
        if made["queued"]:
            db.after_commit(functools.partial(push.push, [Key(event_id, name, 0) for name in made["queued"]]))
        if made["left_to_relay"]:
            db.after_commit(push.wake_relay)
        db.after_commit(functools.partial(metrics.committed, self.kind, start, relayed=not made["left_to_relay"]))
        db.after_commit(functools.partial(telemetry.recorded, self.workspace, event_id))
        db.after_commit(functools.partial(wakes.wake, self.workspace, self.kind))
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
            "actor": actor.current.get(),
        }


class _Member(NamedTuple):
    """The values of a change, and those of its event."""

    change: Mapping[str, object]
    event: Mapping[str, object]


async def _write(change: Statement | None, members: Sequence[_Member]) -> list[Row | None]:
    """Make a change several times and record its events. Return what became of each; None: no row was changed."""
    recording = _recording(change)
    given: dict[str, object] = {name: [member.event[name] for member in members] for name in _GIVEN}
    values = recording.arguments(given | {"direct": push.is_open()})
    if change:
        values[:0] = [[member.change[name] for member in members] for name in change.names]
    made = {row["id"]: row for row in await DB.fetch(recording.text, values)}
    return [made.get(member.event["id"]) for member in members]


@functools.cache  # one for each change that exists in the code
def _recording(change: Statement | None) -> Statement:
    """The statement that makes changes and records their events: first the changes' own values, then `_GIVEN`."""
    if change is None:
        return sql(_RECORD.format(change="", changed=""))
    text = _RECORD.format(change=f"changed AS ({change.text}), ", changed="WHERE id IN (SELECT event FROM changed)")
    return sql(text, after=len(change.names))


@functools.cache
def _gathered(change: Statement) -> Gathered[_Member, Row | None]:
    return Gathered(functools.partial(_write, change))
