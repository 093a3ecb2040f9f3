"""Every change of conversations but those of operators: one function for each, one transaction, with its events.

/v1 can only end a conversation; bots, operators and the demo's visitors do the rest. `erasing` removes.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
from piccolo.querystring import QueryString

from leadwire.delivery.envelope import EventKind
from leadwire.domain.conversations import events, pubsub, schema
from leadwire.domain.conversations.schema import MAX_MESSAGES, MAX_TEXT, ConversationNotFound, NewMessage, StoredMessage
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
# The row lock of this count gives each message its place, and no message is added once the conversation has ended.
_COUNTED: Final = QueryString("{} + {}", Conversation.messages_count, param("count"))
# A message calls off an end that can still be undone; the visitor's also wakes a conversation that is snoozed.
_WOKEN: Final = QueryString("CASE WHEN {} THEN NULL ELSE {} END", param("woken"), Conversation.snoozed_until)
_COUNT: Final = statement(
    Conversation.update(messages_count=_COUNTED, updated_at=_NOW, end_due_at=None, snoozed_until=_WOKEN)
    .where(*_ONE, _OPEN)
    .returning(Conversation.messages_count, Conversation.bot_id)
)
_STORED: Final = ("id", "seq", "role", "content", "client_message_id")
# One row for each message, from arrays.
_ADD: Final = sql("""
INSERT INTO message (id, seq, role, content, answers, client_message_id, user_id, workspace_id, conversation_id,
    created_at)
SELECT *, :workspace, :conversation_id, :now FROM unnest(:id::text[], :seq::int[], :role::text[], :content::text[],
    :answers::text[], :client_message_id::text[], :user_id::text[])""")
# Keeps what is known already where nothing new is given.
_VISITOR: Final = "visitor_email = coalesce(:email, visitor_email), visitor_name = coalesce(:name, visitor_name)"
_WHERE: Final = "WHERE workspace_id = :workspace AND id = :id"
_UPDATE_VISITOR: Final = sql(f"UPDATE conversation SET variables = :variables, {_VISITOR} {_WHERE}")
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


async def add_messages(workspace: str, conversation_id: str, messages: Sequence[NewMessage]) -> list[StoredMessage]:
    """Add messages in their order. Raise Invalid, ConversationNotFound, AlreadyEnded; Conflict when it is full."""
    if any(not message.content.strip() or "\0" in message.content for message in messages):
        raise Invalid("A message needs text.")
    if any(len(message.content) > MAX_TEXT for message in messages):
        raise Invalid(f"A message has at most {MAX_TEXT} characters.")
    async with db.transaction():
        now = clock.now()
        place = {"workspace": workspace, "id": conversation_id}
        woken = any(one.role == "user" for one in messages)
        counted = await _COUNT.row(**place, now=now, count=len(messages), woken=woken)
        if counted is None:
            await _STATUS.one(ConversationNotFound(), **place)
            raise schema.AlreadyEnded
        last, bot_id = counted
        if last > MAX_MESSAGES:
            raise Conflict("The conversation is full.", code="conversation_full")
        stored = [
            StoredMessage(ids.new("msg"), one.role, one.content, clock.iso(now), seq, one.client_message_id)
            for seq, one in enumerate(messages, last - len(messages) + 1)
        ]
        arrays = {name: [getattr(one, name) for one in stored] for name in _STORED}
        arrays |= {name: [getattr(one, name) for one in messages] for name in ("answers", "user_id")}
        await _ADD.rows(workspace=workspace, conversation_id=conversation_id, now=now, **arrays)
        for one in stored:
            await events.message(workspace, one, conversation_id, bot_id).record()
        pubsub.publish(workspace, conversation_id)
    return stored


async def update_visitor(
    workspace: str, conversation_id: str, variables: Mapping[str, object], visitor: schema.Visitor
) -> None:
    """Store the flow's variables, and what the visitor has said of themselves."""
    values = {"variables": msgspec.json.encode(variables).decode(), "email": visitor.email, "name": visitor.name}
    await _UPDATE_VISITOR.rows(workspace=workspace, id=conversation_id, **values)


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
