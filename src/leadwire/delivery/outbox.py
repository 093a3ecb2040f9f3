"""The outbox: what happened, written in the transaction that makes it true. Here and nowhere else.

Either `Event.record` inside the transaction of the change, or `Event.record_with` and `record_all`, which make the
change and its events one statement. There is no third way in, so neither can exist without the other. The event's
deliveries are part of the same statement, or a row of `outbox` is, for which the relay makes them; or neither, when no
endpoint wants it.
"""

import functools
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
from piccolo.columns import BigInt, Column, Text, Timestamptz
from piccolo.table import Table

from leadwire.delivery import envelope, long_polls, metrics
from leadwire.delivery.envelope import EventKind, NamedKind, Unsent
from leadwire.delivery.streams import Key, push
from leadwire.delivery.table import ANEW, POSITION
from leadwire.infrastructure import actor, db, ids, telemetry
from leadwire.infrastructure.db import DB, Row
from leadwire.infrastructure.db.declared import Declared
from leadwire.infrastructure.db.gather import Gathered
from leadwire.infrastructure.db.statements import Statement, sql


class Xid8(Column):
    """PostgreSQL's 64-bit transaction id, for which Piccolo has no column. It takes the name of the class."""

    value_type = int


class RecordedEvent(Table, db=DB, tablename="event"):
    """One event. Its row is written once; only an erasure blanks the body."""

    declared = Declared(line="event", hidden="position xact writer traceparent", by_hand="deletion erasure", moved=ANEW)
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

    declared = Declared(of="event", late="true", fenced=False, moved={"position": POSITION}, by_hand="deletion erasure")
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
    "body": "text", "occurred_at": "timestamptz", "traceparent": "text", "test_endpoint_id": "text", "actor": "text",
}  # fmt: skip

# Make changes and record the event of each that changed a row. Where few endpoints want it and each is open, its
# deliveries are made and queued at once; else the relay makes them (`relay.fan_out`). No endpoint is locked: that one
# was removed meanwhile is seen when a worker claims the delivery.
_RECORD: Final = Path(__file__).with_suffix(".sql").read_text(encoding="utf-8").strip()
_VALUES: Final = ", ".join(f":{name}::{type_}[]" for name, type_ in _GIVEN.items())


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened to `data`, at `at`, in a workspace.

    `subject` need only be given where neither the conversation nor the lead may be named.
    """

    workspace: str
    kind: EventKind | NamedKind | Unsent
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
        return (await record([self]))[0]

    async def record_with(self, change: Statement, **values: object) -> bool:
        """Change a row and record the event, in a single statement. Outside a transaction, others may share it.

        `change` takes a list for each of `values`, and one of `event`, their ids. It returns the ids of those whose
        row it has changed. Return False, and record nothing, when this one is not among them.
        """
        event_id, start = ids.new("evt"), time.perf_counter()
        member = _Member({**values, "event": event_id}, _values(self, event_id))
        if db.in_transaction():
            (row,) = await _write(change, [member])
        else:
            row = await _gathered(change)(member)
        if row is not None:
            _announce(self, row, start)
        return row is not None


async def record(events: Sequence[Event]) -> list[str]:
    """Note several events in the open transaction, in this order and in one statement. Return their ids.

    Raise RuntimeError as `Event.record`.
    """
    if not db.in_transaction():
        raise RuntimeError(f"{events[0].kind} recorded outside the transaction of its change")
    event_ids = [ids.new("evt") for _ in events]
    await _record(_recording(None), [], events, event_ids)
    return event_ids


async def record_all(change: Statement, values: Mapping[str, object], events: Sequence[Event]) -> bool:
    """Make a change and record its events, in this order, in a single statement.

    `change` is CTEs; the one `changed` has a row if the change is made. `values` may hold more than it takes. Return
    False, and record nothing, when it is not made.
    """
    arguments = [values[name] for name in change.names]
    return await _record(_recording(change, alone=True), arguments, events, [ids.new("evt") for _ in events])


async def _record(recording: Statement, change: list[Any], events: Sequence[Event], event_ids: Sequence[str]) -> bool:
    """Record events of one change, with its values. Return whether it is made."""
    start = time.perf_counter()
    rows = await _rows(recording, change, [_values(*event) for event in zip(events, event_ids, strict=True)])
    for event, event_id in zip(events, event_ids, strict=True):
        if row := rows.get(event_id):
            _announce(event, row, start)
    return bool(rows)


class _Member(NamedTuple):
    """The values of a change, and those of its event."""

    change: Mapping[str, object]
    event: Mapping[str, Any]


def _values(event: Event, event_id: str) -> dict[str, object]:
    return {
        "id": event_id,
        "workspace": event.workspace,
        "kind": event.kind,
        "conversation_id": event.conversation_id,
        "lead_id": event.lead_id,
        "subject": event.subject or event.conversation_id or event.lead_id,
        "body": envelope.encode(event.kind, event.at, event.data),
        "occurred_at": event.at,
        "traceparent": telemetry.traceparent(),
        "test_endpoint_id": event.test_endpoint_id,
        "actor": actor.current.get(),
    }


async def _write(change: Statement, members: Sequence[_Member]) -> list[Row | None]:
    """Make a change several times and record its events. Return what became of each; None: no row was changed."""
    values = [[member.change[name] for member in members] for name in change.names]
    rows = await _rows(_recording(change), values, [member.event for member in members])
    return [rows.get(member.event["id"]) for member in members]


async def _rows(recording: Statement, change: list[Any], events: Sequence[Mapping[str, Any]]) -> dict[str, Row]:
    """Run it with the values of a change and of its events. Return what became of these, by their ids."""
    lists: dict[str, object] = {name: [event[name] for event in events] for name in _GIVEN}
    values = change + recording.arguments(lists | {"direct": push.is_open()})
    return {row["id"]: row for row in await DB.fetch(recording.text, values)}


def _announce(event: Event, row: Row, start: float) -> None:
    """Say after the commit what became of an event: its row."""
    if row["queued"]:
        db.after_commit(functools.partial(push.push, [Key(row["id"], name, 0) for name in row["queued"]]))
    if row["left_to_relay"]:
        db.after_commit(push.wake_relay)
    db.after_commit(functools.partial(metrics.committed, event.kind, start, relayed=not row["left_to_relay"]))
    db.after_commit(functools.partial(telemetry.recorded, event.workspace, row["id"]))
    db.after_commit(functools.partial(long_polls.wake, event.workspace, event.kind))


@functools.cache  # one for each change that exists in the code
def _recording(change: Statement | None, *, alone: bool = False) -> Statement:
    """The statement that makes changes and records their events: first the changes' own values, then `_GIVEN`. What is
    `alone` is made or not, with all its events.
    """
    text, only, returned = "", "", "way"
    if change and alone:
        text, only, returned = f"{change.text}, ", "WHERE EXISTS (SELECT FROM changed)", "changed LEFT JOIN way ON true"
    elif change:
        text, only = f"changed AS ({change.text}), ", "WHERE id IN (SELECT event FROM changed)"
    filled = _RECORD.format(given=_VALUES, direct=DIRECT, change=text, changed=only, made=returned)
    return sql(filled, after=len(change.names) if change else 0)


@functools.cache
def _gathered(change: Statement) -> Gathered[_Member, Row | None]:
    return Gathered(functools.partial(_write, change))
