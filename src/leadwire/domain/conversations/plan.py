"""What a change of a conversation comes to: its new values, its messages, its lead, its events. Pure, but for ids.

Each function takes a plan and returns it with one thing more; `store` makes it true, in one statement.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from msgspec import Struct, structs

from leadwire.delivery.envelope import EventKind
from leadwire.domain.conversations import schema
from leadwire.domain.conversations.schema import MAX_MESSAGES, MAX_TEXT, AlreadyEnded, NewMessage, StoredMessage, Told
from leadwire.domain.leads import merge
from leadwire.domain.leads import schema as leads
from leadwire.domain.leads.schema import Lead, LeadPatch, LeadUpdated, Source, StoredLead
from leadwire.infrastructure import clock, ids
from leadwire.infrastructure.errors import Conflict, Invalid

_LISTED: Final = schema.LIST_COLUMNS.split(", ")
_METADATA: Final = schema.METADATA_COLUMNS.split(", ")
COLUMNS: Final = (*_LISTED, *_METADATA, "lead_id", "assigned_to", "snoozed_until", "end_due_at")
"""What is known of a conversation."""
_KINDS: Final[dict[str, EventKind]] = {"user": "message.received"}


class ConversationFull(Conflict, code="conversation_full", detail="The conversation is full."):
    """The conversation has as many messages as one may have."""


class Known(Struct, frozen=True):
    """A conversation as it was read: the values of `COLUMNS`."""

    workspace: str
    row: dict[str, Any]
    version: int | None
    """Of the row; None: it is a new one."""
    lead: StoredLead | None = None
    """That the visitor became."""


class Happened(Struct, frozen=True):
    """An event to be recorded."""

    kind: EventKind
    data: object
    lead_id: str | None = None


class Plan(Struct, frozen=True):
    """What is to be stored, if everything is still as it is known."""

    known: Known
    at: datetime
    row: dict[str, Any]
    """The conversation's new values."""
    messages: tuple[StoredMessage, ...] = ()
    """Those that are added."""
    said: tuple[NewMessage, ...] = ()
    """The same, with what only the table has of them."""
    lead: StoredLead | None = None
    """A lead that is added (version 0), changed or shown, as it will be, with the version that it has."""
    lead_changed: bool = False
    events: tuple[Happened, ...] = ()

    @property
    def id(self) -> str:
        """The conversation's."""
        return str(self.row["id"])


def change(conversation: Known) -> Plan:
    """A plan that changes nothing yet."""
    return Plan(conversation, clock.now(), conversation.row)


def begin(workspace: str, bot_id: str, origin: schema.Origin, flow_version: int | None = None) -> Plan:
    """A new conversation."""
    now = clock.now()
    row = dict.fromkeys(COLUMNS) | origin.source.columns()
    row |= {name: getattr(origin, name) for name in ("locale", "timezone", "browser", "os")}
    row |= {"id": ids.new("conv"), "bot_id": bot_id, "status": "active", "messages_count": 0, "variables": {}}
    row |= {"flow_version": flow_version, "created_at": now, "updated_at": now}
    return _tell(Plan(Known(workspace, row, None), now, row), "conversation.started")


def say(plan: Plan, messages: Sequence[NewMessage], told: Told | None = None) -> Plan:
    """Add messages in their order, and what the visitor has `told`. A message calls off an end that can still be
    undone; the visitor's also wakes a conversation that is snoozed. Raise AlreadyEnded, ConversationFull, Invalid.
    """
    row, count, told = plan.row, plan.row["messages_count"], told or Told()
    if row["status"] == "ended":
        raise AlreadyEnded
    if any(not message.content.strip() or "\0" in message.content for message in messages):
        raise Invalid("A message needs text.")
    if any(len(message.content) > MAX_TEXT for message in messages):
        raise Invalid(f"A message has at most {MAX_TEXT} characters.")
    if count + len(messages) > MAX_MESSAGES:
        raise ConversationFull
    at = clock.iso(plan.at)
    stored = [
        StoredMessage(ids.new("msg"), message.role, message.content, at, seq, message.client_message_id)
        for seq, message in enumerate(messages, count + 1)
    ]
    changes = {"messages_count": count + len(messages), "end_due_at": None}
    if any(message.role == "user" for message in messages):
        changes["snoozed_until"] = None
    if told.variables is not None:
        changes["variables"] = told.variables
    plan = _set(plan, **changes, **_visitor(told.email, told.name))
    about = {"conversation_id": plan.id, "bot_id": row["bot_id"]}
    events = [
        Happened(_KINDS.get(message.role, "message.sent"), _payload("message.sent", message, about))
        for message in stored
    ]
    return structs.replace(
        plan, messages=(*plan.messages, *stored), said=(*plan.said, *messages), events=(*plan.events, *events)
    )


def capture(plan: Plan, contact: LeadPatch, holder: StoredLead | None) -> Plan:
    """The visitor has given an e-mail address or a phone number: they become a new lead, or the one that has it
    already, its `holder`. Raise Invalid.
    """
    row, at = plan.row, clock.iso(plan.at)
    source = Source(row["source_url"], row["source_campaign"], row["source_referrer"])
    blank = Lead(
        id=ids.new("lead"), **dict.fromkeys(leads.TEXTS), score=0, source=source, custom_fields={},
        conversation_id=plan.id, bot_id=row["bot_id"], created_at=at, updated_at=at,
    )  # fmt: skip
    lead = merge.patched(blank, merge.normalized(contact))
    if holder is None:
        plan = structs.replace(plan, lead=StoredLead(lead, 0))
        plan = _happened(plan, Happened("lead.created", lead, lead.id))
    else:
        plan = _become(plan, holder, merge.enriched(holder.lead, lead))
    # As the visitor typed it, not what is known of the lead: it may be somebody else's address.
    email, name = (value if isinstance(value, str) else None for value in (contact.email, contact.name))
    return _set(plan, lead_id=lead.id if holder is None else holder.lead.id, **_visitor(email, name))


def correct(plan: Plan, lead: StoredLead, patch: LeadPatch) -> Plan:
    """Change the conversation's own lead. Raise Invalid."""
    return _become(plan, lead, merge.patched(lead.lead, merge.normalized(patch)))


def hand_off(plan: Plan, reason: str) -> Plan:
    """Ask for a person; a second time changes nothing. Raise AlreadyEnded."""
    if plan.row["status"] == "ended":
        raise AlreadyEnded
    if plan.row["status"] == "handoff":
        return plan
    plan = _set(plan, status="handoff", handoff_reason=reason, handoff_requested_at=plan.at)
    return _tell(plan, "conversation.handoff")


def end(plan: Plan, by: schema.EndedBy, reason: str | None) -> Plan:
    """End a conversation; a second time changes nothing."""
    if plan.row["status"] == "ended":
        return plan
    ended = {"status": "ended", "ended_at": plan.at, "ended_by": by, "end_reason": reason}
    return _tell(_set(plan, **ended, end_due_at=None, snoozed_until=None), "conversation.ended")


def is_full(plan: Plan) -> bool:
    """Whether it takes no more messages."""
    return bool(plan.row["messages_count"] >= MAX_MESSAGES)


def _set(plan: Plan, **changes: Any) -> Plan:
    return structs.replace(plan, row={**plan.row, **changes, "updated_at": plan.at})


def _visitor(email: str | None, name: str | None) -> dict[str, str]:
    """Nothing where nothing new is given: what is known already is kept."""
    values = {"visitor_email": email, "visitor_name": name}
    return {column: value for column, value in values.items() if value is not None}


def _become(plan: Plan, before: StoredLead, after: Lead) -> Plan:
    """Change a lead, if that makes a difference."""
    previous = leads.previous_attributes(before.lead, after)
    if not previous:
        return structs.replace(plan, lead=before)
    after = structs.replace(after, updated_at=clock.iso(clock.after(before.lead.updated_at, plan.at)))
    plan = structs.replace(plan, lead=StoredLead(after, before.version), lead_changed=True)
    data = LeadUpdated(**structs.asdict(after), previous_attributes=previous)
    return _happened(plan, Happened("lead.updated", data, after.id))


def _tell(plan: Plan, kind: EventKind) -> Plan:
    """Record an event with the conversation as it is by now, and its lead."""
    stored = plan.lead or plan.known.lead
    lead = stored.lead if stored else None
    conversation = schema.from_row([plan.row[name] for name in _LISTED])
    metadata = schema.metadata_from_row([plan.row[name] for name in _METADATA])
    more = {"metadata": metadata, "reason": metadata.end_reason, "lead": lead}
    data = _payload(kind, conversation, {**structs.asdict(metadata), **more})
    return _happened(structs.replace(plan, lead=stored), Happened(kind, data, lead.id if lead else None))


def _happened(plan: Plan, event: Happened) -> Plan:
    return structs.replace(plan, events=(*plan.events, event))


def _payload(kind: EventKind, of: Struct, more: dict[str, Any]) -> Struct:
    """What an event of this kind carries: what its struct has fields for."""
    values, payload = {**more, **structs.asdict(of)}, schema.PAYLOADS[kind]
    return payload(**{name: values[name] for name in payload.__struct_fields__})
