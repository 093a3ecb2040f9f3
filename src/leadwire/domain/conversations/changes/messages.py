"""Add messages to a conversation, each with its event."""

from collections.abc import Sequence
from typing import Final

from piccolo.querystring import QueryString

from leadwire.domain.conversations import events, pubsub
from leadwire.domain.conversations.changes.lifecycle import why_not
from leadwire.domain.conversations.schema import MAX_MESSAGES, MAX_TEXT, Message, NewMessage, Role, StoredMessage
from leadwire.domain.conversations.table import Conversation
from leadwire.infrastructure import clock, db, ids
from leadwire.infrastructure.db.statements import param, sql, statement
from leadwire.infrastructure.errors import Conflict, Invalid

# The row lock of this count gives each message its place, and no message is added once the conversation has ended.
_COUNTED: Final = QueryString("{} + {}", Conversation.messages_count, param("count"))
_COUNT: Final = statement(
    Conversation.update(messages_count=_COUNTED, updated_at=param("now"))
    .where(
        Conversation.workspace_id == param("workspace"), Conversation.id == param("id"), Conversation.status != "ended"
    )
    .returning(Conversation.messages_count, Conversation.bot_id)
)
_STORED: Final = ("id", "seq", "role", "content", "client_message_id")
# One row for each message, from arrays.
_ADD: Final = sql("""
INSERT INTO message (id, seq, role, content, answers, client_message_id, user_id, workspace_id, conversation_id,
    created_at)
SELECT *, :workspace, :conversation_id, :now FROM unnest(:id::text[], :seq::int[], :role::text[], :content::text[],
    :answers::text[], :client_message_id::text[], :user_id::text[])""")


async def add_message(
    workspace: str, conversation_id: str, role: Role, content: str, *, answers: str | None = None
) -> Message:
    """Add one message. Raise as `add_messages`."""
    new = NewMessage(role=role, content=content, answers=answers)
    (stored,) = await add_messages(workspace, conversation_id, [new])
    return stored.message


async def add_messages(workspace: str, conversation_id: str, messages: Sequence[NewMessage]) -> list[StoredMessage]:
    """Add messages in their order. Raise Invalid, ConversationNotFound, AlreadyEnded; Conflict when it is full."""
    if any(not message.content.strip() or "\0" in message.content for message in messages):
        raise Invalid("A message needs text.")
    if any(len(message.content) > MAX_TEXT for message in messages):
        raise Invalid(f"A message has at most {MAX_TEXT} characters.")
    async with db.transaction():
        now = clock.now()
        counted = await _COUNT.row(workspace=workspace, id=conversation_id, now=now, count=len(messages))
        if counted is None:
            raise await why_not(workspace, conversation_id)
        last, bot_id = counted
        if last > MAX_MESSAGES:
            raise Conflict("The conversation is full.", code="conversation_full")
        stored = [
            StoredMessage(seq, ids.new("msg"), one.role, one.content, clock.iso(now), one.client_message_id)
            for seq, one in enumerate(messages, last - len(messages) + 1)
        ]
        arrays = {name: [getattr(one, name) for one in stored] for name in _STORED}
        arrays |= {name: [getattr(one, name) for one in messages] for name in ("answers", "user_id")}
        await _ADD.rows(workspace=workspace, conversation_id=conversation_id, now=now, **arrays)
        for one in stored:
            await events.message(workspace, one.message, conversation_id, bot_id).record()
        pubsub.publish(workspace, conversation_id)
    return stored
