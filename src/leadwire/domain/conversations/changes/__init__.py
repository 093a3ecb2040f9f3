"""Every change of conversations but those of operators: one function for each, one transaction, with its events.

/v1 can only end a conversation; bots, operators and the demo's visitors do the rest. `erasing` removes.
"""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from leadwire.delivery.envelope import EventKind
from leadwire.domain.conversations import events, pubsub, schema
from leadwire.domain.conversations.schema import (
    MAX_MESSAGES,
    MAX_TEXT,
    ConversationNotFound,
    NewMessage,
    StoredMessage,
    Told,
)
from leadwire.domain.conversations.table import Conversation
from leadwire.domain.leads import changes as leads
from leadwire.domain.leads import schema as lead_schema
from leadwire.domain.leads.schema import Lead, LeadPatch, Source
from leadwire.infrastructure import clock, db, ids
from leadwire.infrastructure.db.statements import Statement, columns, insert, param, sql, statement
from leadwire.infrastructure.errors import Conflict, Invalid

_COLUMNS: Final = f"{schema.LIST_COLUMNS}, {schema.METADATA_COLUMNS}"
_RETURNED: Final = columns(Conversation, _COLUMNS.replace(",", ""))
_LISTED: Final = len(schema.LIST_COLUMNS.split(","))
_ONE: Final = (Conversation.workspace_id == param("workspace"), Conversation.id == param("id"))
_OPEN: Final = Conversation.status != "ended"
_NOW: Final = param("now")

_SOURCE: Final = "source_url source_campaign source_referrer"
_BROWSER: Final = "locale timezone browser os"
_START: Final = insert(
    *columns(Conversation, f"id workspace_id bot_id flow_version created_at updated_at {_SOURCE} {_BROWSER} variables"),
    variables="{}",
    end=f"RETURNING {_COLUMNS}",
)
_NOTHING: Final = Told()
_GIVEN: Final = ("role", "content", "client_message_id", "answers", "user_id")
# Keeps what is known already where nothing new is given.
_VISITOR: Final = "visitor_email = coalesce(:email, visitor_email), visitor_name = coalesce(:name, visitor_name)"
# Its row's lock gives each message its place, and none is added once the conversation has ended. A message calls off an
# end that can still be undone; the visitor's also wakes a conversation that is snoozed.
_ADD: Final = sql(f"""
WITH talk AS (
    UPDATE conversation SET messages_count = messages_count + :count, updated_at = :now, end_due_at = NULL,
        snoozed_until = CASE WHEN :woken THEN NULL ELSE snoozed_until END,
        variables = coalesce(:variables::json, variables), {_VISITOR}
    WHERE workspace_id = :workspace AND id = :conversation AND status <> 'ended'
      AND (:version::xid IS NULL OR xmin = :version::xid)
    RETURNING id, workspace_id, bot_id, messages_count
), added AS (
    INSERT INTO message (id, role, content, client_message_id, answers, user_id, workspace_id, conversation_id, seq,
        created_at)
    SELECT new.id, role, content, client_message_id, answers, user_id, workspace_id, talk.id,
        messages_count - :count + place, :now
    FROM talk, unnest(:id::text[], :role::text[], :content::text[], :client_message_id::text[], :answers::text[],
        :user_id::text[]) WITH ORDINALITY AS new (id, role, content, client_message_id, answers, user_id, place)
    ON CONFLICT (conversation_id, client_message_id) WHERE client_message_id IS NOT NULL DO NOTHING RETURNING 1
)
SELECT messages_count, bot_id, (SELECT count(*) FROM added) FROM talk""")
_WHERE: Final = "WHERE workspace_id = :workspace AND id = :id"
_SET_LEAD: Final = sql(f"UPDATE conversation SET lead_id = :lead_id, updated_at = :now, {_VISITOR} {_WHERE}")
_LOCK: Final = statement(Conversation.select("bot_id", *_SOURCE.split()).where(*_ONE), "FOR UPDATE")
_HANDOFF: Final = {"status": "handoff", "handoff_reason": param("reason"), "handoff_requested_at": _NOW}
_HAND_OFF: Final = statement(
    Conversation.update(**_HANDOFF, updated_at=_NOW).where(*_ONE, Conversation.status == "active").returning(*_RETURNED)
)
_ENDED: Final[dict[str, Any]] = {
    "status": "ended", "ended_at": _NOW, "ended_by": param("by"), "end_reason": param("reason"),
    "end_due_at": None, "snoozed_until": None,
}  # fmt: skip
_END: Final = statement(Conversation.update(**_ENDED, updated_at=_NOW).where(*_ONE, _OPEN).returning(*_RETURNED))
_STATUS: Final = statement(Conversation.select("status", "ended_at").where(*_ONE))
# The lead that a conversation's visitor became. A change of it that is under way is waited for: its event is before
# that of the conversation, which shows the lead as it is then.
_LEAD: Final = sql(f"""
SELECT {lead_schema.COLUMNS} FROM lead
WHERE id = (SELECT lead_id FROM conversation WHERE workspace_id = :workspace AND id = :id) FOR SHARE""")


async def start(workspace: str, bot_id: str, origin: schema.Origin, flow_version: int | None = None) -> str:
    """Open a conversation with a visitor who sends the first message. Return its id."""
    conversation_id, now = ids.new("conv"), clock.now()
    values = origin.source.columns() | {name: getattr(origin, name) for name in _BROWSER.split()}
    values |= {"workspace_id": workspace, "bot_id": bot_id, "flow_version": flow_version}
    async with db.transaction():
        made = await _START.row(id=conversation_id, created_at=now, updated_at=now, **values)
        await events.changed(workspace, "conversation.started", *_split(made)).record()
    return conversation_id


async def add_message(
    workspace: str, conversation_id: str, role: schema.Role, content: str, *, answers: str | None = None
) -> StoredMessage:
    """Add one message. Raise as `add_messages`."""
    new = NewMessage(role=role, content=content, answers=answers)
    return (await add_messages(workspace, conversation_id, [new]))[0]


async def add_messages(
    workspace: str, conversation_id: str, messages: Sequence[NewMessage], told: Told = _NOTHING
) -> list[StoredMessage]:
    """Add messages in their order, and what the visitor has `told`. Raise Invalid, ConversationNotFound, AlreadyEnded;
    Repeated; ConcurrentUpdate when the conversation is not as `told` knows it; Conflict when it is full.
    """
    if any(not message.content.strip() or "\0" in message.content for message in messages):
        raise Invalid("A message needs text.")
    if any(len(message.content) > MAX_TEXT for message in messages):
        raise Invalid(f"A message has at most {MAX_TEXT} characters.")
    now, new = clock.now(), [ids.new("msg") for _ in messages]
    variables = None if told.variables is None else msgspec.json.encode(told.variables).decode()
    arrays = {"id": new} | {name: [getattr(one, name) for one in messages] for name in _GIVEN}
    woken = any(one.role == "user" for one in messages)
    async with db.transaction():
        added = await _ADD.row(
            workspace=workspace, conversation=conversation_id, now=now, count=len(messages), woken=woken,
            variables=variables, email=told.email, name=told.name, version=told.version, **arrays,
        )  # fmt: skip
        if added is None:
            found = await _STATUS.one(ConversationNotFound(), workspace=workspace, id=conversation_id)
            raise schema.AlreadyEnded if found["status"] == "ended" else schema.ConcurrentUpdate
        last, bot_id, count = added
        if count < len(messages):
            raise schema.Repeated
        if last > MAX_MESSAGES:
            raise Conflict("The conversation is full.", code="conversation_full")
        stored = [
            StoredMessage(message_id, one.role, one.content, clock.iso(now), seq, one.client_message_id)
            for seq, (message_id, one) in enumerate(zip(new, messages, strict=True), last - len(messages) + 1)
        ]
        await events.record_messages(workspace, stored, conversation_id, bot_id)
        pubsub.publish(workspace, conversation_id)
    return stored


async def capture_lead(workspace: str, conversation_id: str, found: LeadPatch) -> Lead:
    """Store the visitor as a lead. Raise ConversationNotFound, and as `leads.changes.capture`."""
    place = {"workspace": workspace, "id": conversation_id}
    async with db.transaction():
        bot_id, *source = await _LOCK.one(ConversationNotFound(), **place)
        lead = await leads.capture(workspace, bot_id, conversation_id, found, Source(*source))
        # As the visitor typed it, not what is known of the lead: it may be somebody else's address.
        email, name = (value if isinstance(value, str) else None for value in (found.email, found.name))
        await _SET_LEAD.rows(**place, lead_id=lead.id, email=email, name=name, now=clock.now())
    return lead


async def hand_off(workspace: str, conversation_id: str, reason: str) -> None:
    """Ask for a person; a second time changes nothing. Raise ConversationNotFound, AlreadyEnded."""
    place = {"workspace": workspace, "id": conversation_id}
    async with db.transaction():
        row = await _change("conversation.handoff", _HAND_OFF, workspace, conversation_id, reason=reason)
        if row is None and (await _STATUS.one(ConversationNotFound(), **place))["status"] == "ended":
            raise schema.AlreadyEnded


async def end(
    workspace: str, conversation_id: str, by: schema.EndedBy, reason: str | None = None
) -> schema.ConversationEnd:
    """End a conversation. Return its first end also when it has ended before. Raise ConversationNotFound."""
    missing = ConversationNotFound()
    if not ids.is_id("conv", conversation_id):
        raise missing
    async with db.transaction():
        row = await _change("conversation.ended", _END, workspace, conversation_id, by=by, reason=reason)
    found = row or await _STATUS.one(missing, workspace=workspace, id=conversation_id)
    return schema.ConversationEnd(conversation_id, "ended", clock.iso(found["ended_at"]))


async def _change(
    kind: EventKind, change: Statement, workspace: str, conversation_id: str, **values: Any
) -> db.Row | None:
    """Change the status of a conversation, with the event. Return None when it is not there or not in that state."""
    row = await change.row(workspace=workspace, id=conversation_id, now=clock.now(), **values)
    if row is not None:
        found = await _LEAD.row(workspace=workspace, id=conversation_id)
        lead = lead_schema.from_row(found) if found else None
        await events.changed(workspace, kind, *_split(row), lead).record()
        pubsub.publish(workspace, conversation_id)
    return row


def _split(row: Any) -> tuple[schema.Conversation, schema.Metadata]:
    values = tuple(row)
    return schema.from_row(values[:_LISTED]), schema.metadata_from_row(values[_LISTED:])
