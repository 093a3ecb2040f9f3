"""Every change of a conversation: one function, one transaction, its events beside it.

There is no /v1 route that opens one or speaks in one: bots and the demo's visitors call these.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from leadwire.domain.conversations import events, pubsub, refusals, table
from leadwire.domain.conversations.schema import (
    LIST_COLUMNS,
    MAX_MESSAGES,
    MAX_TEXT,
    METADATA_COLUMNS,
    Conversation,
    ConversationEnd,
    EndedBy,
    Message,
    Metadata,
    NewMessage,
    Origin,
    Role,
    StoredMessage,
    from_row,
    metadata_from_row,
)
from leadwire.domain.leads import changes as leads
from leadwire.domain.leads import schema as lead_schema
from leadwire.domain.leads.schema import Lead, LeadPatch, Source
from leadwire.infrastructure import clock, db, ids
from leadwire.infrastructure.db.statements import any_of, param, sql, statement
from leadwire.infrastructure.errors import Conflict, Invalid, NotFound
from leadwire.infrastructure.ids import is_id

_COLUMNS: Final = f"{LIST_COLUMNS}, {METADATA_COLUMNS}"
_LISTED: Final = len(LIST_COLUMNS.split(","))

_OPEN: Final = f"""
INSERT INTO conversation (id, workspace_id, bot_id, source_url, source_campaign, source_referrer, locale, timezone,
    browser, os, variables, created_at, updated_at, flow_version)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, '{{}}', $11, $11, $12) RETURNING {_COLUMNS}"""

# The row lock of the count is what gives each message its place and keeps an ended conversation silent.
_NEXT_PLACE: Final = """
UPDATE conversation SET messages_count = messages_count + $4, updated_at = $3
WHERE workspace_id = $1 AND id = $2 AND status <> 'ended' RETURNING messages_count, bot_id"""

_SAY: Final = """
INSERT INTO message (id, seq, role, content, answers, client_message_id, user_id, workspace_id, conversation_id,
    created_at)
SELECT *, $8, $9, $10 FROM unnest($1::text[], $2::int[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[])"""

_HAND_OFF: Final = f"""
UPDATE conversation SET status = 'handoff', handoff_reason = $3, handoff_requested_at = $4, updated_at = $4
WHERE workspace_id = $1 AND id = $2 AND status = 'active' RETURNING {_COLUMNS}"""

_END: Final = f"""
UPDATE conversation SET status = 'ended', ended_at = $3, ended_by = $4, end_reason = $5, updated_at = $3
WHERE workspace_id = $1 AND id = $2 AND status <> 'ended' RETURNING {_COLUMNS}"""

# Locks a lead's conversations and the one it was captured in, in one order for everybody.
_LOCK_OF_LEAD: Final = sql("""
SELECT 1 FROM conversation WHERE workspace_id = :workspace
  AND (lead_id = :lead_id OR id = (SELECT conversation_id FROM lead WHERE id = :lead_id)) ORDER BY id FOR UPDATE""")
_ERASE: Final = statement(  # the source goes as well: links in e-mails name whom they were sent to
    table.Conversation.update(
        {
            table.Conversation.visitor_email: None,
            table.Conversation.visitor_name: None,
            table.Conversation.variables: "{}",
            table.Conversation.lead_id: None,
            table.Conversation.source_url: None,
            table.Conversation.source_referrer: None,
        }
    )
    .where(
        table.Conversation.workspace_id == param("workspace"),
        (table.Conversation.lead_id == param("lead_id")) | (table.Conversation.id == param("conversation_id")),
    )
    .returning(table.Conversation.id)
)
# Visitors name themselves also where nobody asked. What the bot wrote stays unless it repeats an answer.
_ERASE_MESSAGES: Final = statement(
    table.Message.update({table.Message.content: "[deleted]"}).where(
        any_of(table.Message.conversation_id, "conversation_ids"),
        (table.Message.role != "bot") | table.Message.answers.is_not_null(),
    )
)
_DELETE_NOTES: Final = statement(
    table.ConversationNote.delete().where(any_of(table.ConversationNote.conversation_id, "conversation_ids"))
)


async def start(workspace: str, bot_id: str, origin: Origin, flow_version: int | None = None) -> str:
    """Open a conversation with a visitor who has just said the first thing. Answers its id."""
    source = origin.source
    async with db.transaction():
        made = await db.row(
            _OPEN, ids.new("conv"), workspace, bot_id, source.url, source.campaign, source.referrer,
            origin.locale, origin.timezone, origin.browser, origin.os, clock.now(), flow_version,
        )  # fmt: skip
        conversation, metadata = _split(made)
        await events.started(workspace, conversation, metadata).record()
    return conversation.id


async def say(workspace: str, conversation_id: str, role: Role, content: str, *, answers: str | None = None) -> Message:
    """Add one message (see `speak`)."""
    (said,) = await add_messages(workspace, conversation_id, [NewMessage(role=role, content=content, answers=answers)])
    return Message(said.id, said.role, said.content, said.created_at)


async def add_messages(workspace: str, conversation_id: str, messages: Sequence[NewMessage]) -> list[StoredMessage]:
    """Add messages, one after the other. Raises Invalid, NotFound; Conflict when the conversation is ended or full."""
    if any(not message.content.strip() or "\0" in message.content for message in messages):
        raise Invalid("A message needs text.")
    if any(len(message.content) > MAX_TEXT for message in messages):
        raise Invalid(f"A message has at most {MAX_TEXT} characters.")
    async with db.transaction():
        now = clock.now()
        place = await db.row(_NEXT_PLACE, workspace, conversation_id, now, len(messages))
        if place is None:
            raise await _why_not(workspace, conversation_id)
        last, bot_id = place
        if last > MAX_MESSAGES:
            raise Conflict("The conversation is full.", code="conversation_full")
        spoken = [
            StoredMessage(seq, ids.new("msg"), one.role, one.content, clock.iso(now), one.client_message_id)
            for seq, one in enumerate(messages, last - len(messages) + 1)
        ]
        columns = zip(
            *((said.id, said.seq, *_stored(one)) for said, one in zip(spoken, messages, strict=True)), strict=True
        )
        await db.rows(_SAY, *map(list, columns), workspace, conversation_id, now)
        for said in spoken:
            message = Message(said.id, said.role, said.content, said.created_at)
            await events.message(workspace, message, conversation_id, bot_id).record()
        pubsub.publish(workspace, conversation_id)
    return spoken


async def note_visitor(
    workspace: str,
    conversation_id: str,
    *,
    variables: Mapping[str, object],
    lead_id: str | None,
    email: str | None = None,
    name: str | None = None,
) -> None:
    """Keep what the visitor has told: the flow's variables, who it turned out to be, their own e-mail and name."""
    await db.rows(
        """UPDATE conversation SET variables = $3, lead_id = coalesce($4, lead_id),
               visitor_email = coalesce($5, visitor_email), visitor_name = coalesce($6, visitor_name)
           WHERE workspace_id = $1 AND id = $2""",
        workspace, conversation_id, msgspec.json.encode(variables).decode(), lead_id, email, name,
    )  # fmt: skip


async def capture_lead(workspace: str, conversation_id: str, found: LeadPatch) -> Lead:
    """Take the visitor of a conversation down as a lead (see leads.changes.capture). Raises NotFound, Invalid."""
    async with db.transaction():
        talk = await db.row(
            """SELECT bot_id, source_url, source_campaign, source_referrer FROM conversation
               WHERE workspace_id = $1 AND id = $2 FOR UPDATE""",
            workspace, conversation_id,
        )  # fmt: skip
        if talk is None:
            raise refusals.unknown()
        bot_id, *source = talk
        lead = await leads.capture(workspace, bot_id, conversation_id, found, Source(*source))
        # The visitor's own words, not what is known of the lead: somebody may have typed another's address.
        told = [value if isinstance(value, str) else None for value in (found.email, found.name)]
        await db.rows(
            """UPDATE conversation SET lead_id = $3, visitor_email = coalesce($4, visitor_email),
                   visitor_name = coalesce($5, visitor_name), updated_at = $6
               WHERE workspace_id = $1 AND id = $2""",
            workspace, conversation_id, lead.id, *told, clock.now(),
        )  # fmt: skip
    return lead


async def hand_off(workspace: str, conversation_id: str, reason: str) -> None:
    """Ask for a person. Once asked, asking again changes nothing. Raises NotFound; Conflict when ended."""
    async with db.transaction():
        found = await db.row(_HAND_OFF, workspace, conversation_id, reason, clock.now())
        if found is None:
            refusal = await _why_not(workspace, conversation_id)
            if refusal.code == "already_handed_off":
                return
            raise refusal
        conversation, metadata = _split(found)
        lead = await _lead_of(workspace, conversation_id)
        await events.handed_off(workspace, conversation, metadata, lead).record()
        pubsub.publish(workspace, conversation_id)


async def end(workspace: str, conversation_id: str, by: EndedBy, reason: str | None = None) -> ConversationEnd:
    """Close a conversation. Closing a closed one answers its first closing and tells nobody. Raises NotFound."""
    if not is_id("conv", conversation_id):
        raise refusals.unknown()
    async with db.transaction():
        found = await db.row(_END, workspace, conversation_id, clock.now(), by, reason)
        if found is not None:
            conversation, metadata = _split(found)
            lead = await _lead_of(workspace, conversation_id)
            await events.ended(workspace, conversation, metadata, lead).record()
            pubsub.publish(workspace, conversation_id)
            return ConversationEnd(conversation.id, "ended", metadata.ended_at or "")
    ended_at = await db.value(
        "SELECT ended_at FROM conversation WHERE workspace_id = $1 AND id = $2", workspace, conversation_id
    )
    if ended_at is None:
        raise refusals.unknown()
    return ConversationEnd(conversation_id, "ended", clock.iso(ended_at))


async def lock_of_lead(workspace: str, lead_id: str) -> None:
    """Lock the conversations of a lead for the open transaction."""
    await _LOCK_OF_LEAD.rows(workspace=workspace, lead_id=lead_id)


async def erase(workspace: str, lead: Lead) -> list[str]:
    """Erase a person from their conversations: names, messages, variables, notes. Return the conversations' ids."""
    found = await _ERASE.rows(workspace=workspace, lead_id=lead.id, conversation_id=lead.conversation_id)
    conversation_ids = [row["id"] for row in found]
    await _ERASE_MESSAGES.rows(conversation_ids=conversation_ids)
    await _DELETE_NOTES.rows(conversation_ids=conversation_ids)
    return conversation_ids


def _stored(message: NewMessage) -> tuple[str | None, ...]:
    return message.role, message.content, message.answers, message.client_message_id, message.user_id


def _split(row: db.Row | None) -> tuple[Conversation, Metadata]:
    assert row is not None  # noqa: S101 - asked only where a row was just written
    columns = tuple(row)
    return from_row(columns[:_LISTED]), metadata_from_row(columns[_LISTED:])


async def _lead_of(workspace: str, conversation_id: str) -> Lead | None:
    found = await db.row(
        f"""SELECT {lead_schema.COLUMNS_OF_LEAD} FROM conversation c JOIN lead ON lead.id = c.lead_id
            WHERE c.workspace_id = $1 AND c.id = $2""",
        workspace, conversation_id,
    )  # fmt: skip
    return lead_schema.from_row(found) if found else None


async def _why_not(workspace: str, conversation_id: str) -> NotFound | Conflict:
    status = await db.value(
        "SELECT status FROM conversation WHERE workspace_id = $1 AND id = $2", workspace, conversation_id
    )
    if status is None:
        return refusals.unknown()
    if status == "ended":
        return refusals.ended()
    return Conflict("A person has been asked for already.", code="already_handed_off")
