"""What is removed: a person from their conversations, what was said, whole conversations. `privacy` decides, and opens
the transaction.
"""

from typing import Final

from leadwire.domain.conversations import events
from leadwire.domain.conversations.table import Conversation, Message
from leadwire.domain.leads.schema import Lead
from leadwire.domain.search import changes as search
from leadwire.infrastructure import clock
from leadwire.infrastructure.db.statements import any_of, param, sql, statement

_MINE: Final = Conversation.workspace_id == param("workspace")
_SOME: Final = (_MINE, any_of(Conversation.id, "conversation_ids"))
_IN_SOME: Final = any_of(Message.conversation_id, "conversation_ids")
# Locks a lead's conversations and the one it was captured in, in one order for everybody.
_LOCK_OF_LEAD: Final = sql("""
SELECT 1 FROM conversation WHERE workspace_id = :workspace
  AND (lead_id = :lead_id OR id = (SELECT conversation_id FROM lead WHERE id = :lead_id)) ORDER BY id FOR UPDATE""")
# The source goes as well: links in e-mails name whom they were sent to.
_ERASED: Final = ("visitor_email", "visitor_name", "lead_id", "source_url", "source_referrer", "rating_comment")
_OF_LEAD: Final = (Conversation.lead_id == param("lead_id")) | (Conversation.id == param("conversation_id"))
_ERASE: Final = statement(
    Conversation.update({**dict.fromkeys(_ERASED), "variables": "{}", "tags": "{}", "updated_at": param("now")})
    .where(_MINE, _OF_LEAD)
    .returning(Conversation.id)
)
# Visitors name themselves also where nobody asked. What the bot wrote stays unless it repeats an answer.
_ERASE_MESSAGES: Final = statement(
    Message.update(content="[deleted]").where(_IN_SOME, (Message.role != "bot") | Message.answers.is_not_null())
)
_BLANK_MESSAGES: Final = statement(Message.update(content="[deleted]").where(_IN_SOME))
# The flow's variables repeat what the visitor answered.
_BLANK: Final = statement(Conversation.update(variables="{}", tags="{}", rating_comment=None).where(*_SOME))
_DELETE: Final = statement(Conversation.delete().where(*_SOME))


async def lock_of_lead(workspace: str, lead_id: str) -> None:
    """Lock the conversations of a lead."""
    await _LOCK_OF_LEAD.rows(workspace=workspace, lead_id=lead_id)


async def erase(workspace: str, lead: Lead) -> list[str]:
    """Erase a person from their conversations: names, messages, tags. Return the conversations' ids."""
    which = {"lead_id": lead.id, "conversation_id": lead.conversation_id}
    found = await _ERASE.rows(workspace=workspace, now=clock.now(), **which)
    conversation_ids = [row["id"] for row in found]
    await _ERASE_MESSAGES.rows(conversation_ids=conversation_ids)
    await search.forget(workspace, conversation_ids)
    return conversation_ids


async def blank(workspace: str, conversation_ids: list[str]) -> None:
    """Remove what was said and answered in conversations."""
    await _BLANK.rows(workspace=workspace, conversation_ids=conversation_ids)
    await _BLANK_MESSAGES.rows(conversation_ids=conversation_ids)
    await search.forget(workspace, conversation_ids)


async def delete(workspace: str, conversation_ids: list[str]) -> None:
    """Delete conversations with their messages, notes, points and visitors' sessions."""
    await _DELETE.rows(workspace=workspace, conversation_ids=conversation_ids)
    await events.deleted(workspace).record()
