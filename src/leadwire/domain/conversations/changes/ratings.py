"""What visitors thought of a conversation."""

from datetime import timedelta
from typing import Final

from leadwire.domain.conversations.schema import ConversationNotFound
from leadwire.domain.conversations.table import Conversation
from leadwire.infrastructure import clock
from leadwire.infrastructure.db.statements import param, statement
from leadwire.infrastructure.errors import Conflict

_ACCEPTED: Final = timedelta(days=1)
_RATE: Final = statement(
    Conversation.update(rating=param("rating"), rating_comment=param("comment"))
    .where(Conversation.workspace_id == param("workspace"), Conversation.id == param("id"))
    .where(Conversation.ended_at > param("since"))
    .returning(Conversation.id)
)
_KNOWN: Final = statement(
    Conversation.select(Conversation.status, Conversation.rating, Conversation.rating_comment).where(
        Conversation.workspace_id == param("workspace"), Conversation.id == param("id")
    )
)


async def rate(workspace: str, conversation_id: str, rating: int, comment: str | None) -> None:
    """Store how a visitor rates a conversation that has ended, 1 to 5; the last rating counts.

    Raise ConversationNotFound; Conflict while it goes on, and a day after its end: what was said may be erased then.
    """
    values = {"workspace": workspace, "id": conversation_id}
    if await _RATE.row(**values, rating=rating, comment=comment, since=clock.now() - _ACCEPTED) is None:
        status, *_ = await _KNOWN.one(ConversationNotFound(), **values)
        if status == "ended":
            raise Conflict("The conversation ended more than a day ago.", code="too_late")
        raise Conflict("The conversation has not ended yet.", code="not_ended")


async def rating_of(workspace: str, conversation_id: str) -> tuple[int | None, str | None]:
    """Return the rating and the comment. Raise ConversationNotFound."""
    _, rating, comment = await _KNOWN.one(ConversationNotFound(), workspace=workspace, id=conversation_id)
    return rating, comment
