"""What visitors thought of a conversation."""

from typing import Final

from leadwire.domain.conversations.schema import ConversationNotFound
from leadwire.domain.conversations.table import Conversation
from leadwire.infrastructure.db.statements import param, statement
from leadwire.infrastructure.errors import Conflict

_RATE: Final = statement(
    Conversation.update(rating=param("rating"), rating_comment=param("comment"))
    .where(Conversation.workspace_id == param("workspace"), Conversation.id == param("id"))
    .where(Conversation.status == "ended")
    .returning(Conversation.id)
)
_KNOWN: Final = statement(
    Conversation.select(Conversation.status, Conversation.rating, Conversation.rating_comment).where(
        Conversation.workspace_id == param("workspace"), Conversation.id == param("id")
    )
)


async def rate(workspace: str, conversation_id: str, rating: int, comment: str | None) -> None:
    """Store how a visitor rates a conversation that has ended, 1 to 5; the last rating counts.

    Raise ConversationNotFound; Conflict while it goes on.
    """
    values = {"workspace": workspace, "id": conversation_id}
    if await _RATE.row(**values, rating=rating, comment=comment) is None:
        await _KNOWN.one(ConversationNotFound(), **values)
        raise Conflict("The conversation has not ended yet.", code="not_ended")


async def rating_of(workspace: str, conversation_id: str) -> tuple[int | None, str | None]:
    """Return the rating and the comment. Raise ConversationNotFound."""
    _, rating, comment = await _KNOWN.one(ConversationNotFound(), workspace=workspace, id=conversation_id)
    return rating, comment
