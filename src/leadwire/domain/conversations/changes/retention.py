"""What becomes of conversations that are no longer kept, or of what was said in them. `privacy.retention` decides."""

from typing import Final

from leadwire.domain.conversations import events
from leadwire.domain.conversations.table import Conversation, ConversationNote, Message
from leadwire.domain.search import changes as search
from leadwire.infrastructure.db.statements import any_of, param, statement

_MINE: Final = Conversation.workspace_id == param("workspace")
_DELETE: Final = statement(Conversation.delete().where(_MINE, any_of(Conversation.id, "conversation_ids")))
# The flow's variables repeat what the visitor answered.
_BLANK: Final = (
    statement(Message.update(content="[deleted]").where(any_of(Message.conversation_id, "conversation_ids"))),
    statement(ConversationNote.delete().where(any_of(ConversationNote.conversation_id, "conversation_ids"))),
)
_BLANK_VARIABLES: Final = statement(
    Conversation.update(variables="{}", tags="{}", rating_comment=None).where(
        _MINE, any_of(Conversation.id, "conversation_ids")
    )
)


async def delete(workspace: str, conversation_ids: list[str]) -> None:
    """Delete conversations with their messages, notes, points and visitors' sessions, in the open transaction."""
    await _DELETE.rows(workspace=workspace, conversation_ids=conversation_ids)
    await events.deleted(workspace).record()


async def blank(workspace: str, conversation_ids: list[str]) -> None:
    """Remove what was said, answered and noted in conversations, in the open transaction."""
    await _BLANK_VARIABLES.rows(workspace=workspace, conversation_ids=conversation_ids)
    for statement_ in _BLANK:
        await statement_.rows(conversation_ids=conversation_ids)
    await search.forget(workspace, conversation_ids)
