"""Erase a person from their conversations. `privacy.changes` calls this in the transaction of the whole erasure."""

from typing import Final

from leadwire.domain.conversations.table import Conversation, ConversationNote, Message
from leadwire.domain.leads.schema import Lead
from leadwire.infrastructure.db.statements import any_of, param, sql, statement

# Locks a lead's conversations and the one it was captured in, in one order for everybody.
_LOCK_OF_LEAD: Final = sql("""
SELECT 1 FROM conversation WHERE workspace_id = :workspace
  AND (lead_id = :lead_id OR id = (SELECT conversation_id FROM lead WHERE id = :lead_id)) ORDER BY id FOR UPDATE""")
# The source goes as well: links in e-mails name whom they were sent to.
_ERASED: Final = ("visitor_email", "visitor_name", "lead_id", "source_url", "source_referrer")
_OF_LEAD: Final = (Conversation.lead_id == param("lead_id")) | (Conversation.id == param("conversation_id"))
_ERASE: Final = statement(
    Conversation.update({**dict.fromkeys(_ERASED), "variables": "{}"})
    .where(Conversation.workspace_id == param("workspace"), _OF_LEAD)
    .returning(Conversation.id)
)
# Visitors name themselves also where nobody asked. What the bot wrote stays unless it repeats an answer.
_ERASE_MESSAGES: Final = statement(
    Message.update(content="[deleted]").where(
        any_of(Message.conversation_id, "conversation_ids"), (Message.role != "bot") | Message.answers.is_not_null()
    )
)
_NOTES: Final = any_of(ConversationNote.conversation_id, "conversation_ids")
_DELETE_NOTES: Final = statement(ConversationNote.delete().where(_NOTES))


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
