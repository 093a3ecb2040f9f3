"""How far both sides have read a conversation, and what the visitor thought of it. The one who wrote is told at once;
nothing of it is an event.
"""

from datetime import timedelta
from typing import Any, Final

from leadwire.domain.conversations import pubsub, reads
from leadwire.infrastructure import clock, db
from leadwire.infrastructure.db.statements import Statement, named
from leadwire.infrastructure.errors import Conflict

_ACCEPTED: Final = timedelta(days=1)  # after the end
_BY_VISITOR, _BY_AGENT, _READ, _RATE = named(__file__, "by_visitor by_agent read rate")


async def by_visitor(workspace: str, conversation_id: str, seq: int) -> None:
    """Note that the visitor has seen all messages up to the place `seq`."""
    await _note(_BY_VISITOR, workspace=workspace, id=conversation_id, seq=seq)


async def by_agent(workspace: str, conversation_id: str, user_id: str, seq: int) -> None:
    """Note that an operator has seen all messages up to the place `seq`, and the notes."""
    async with db.transaction():
        await _note(_READ, workspace=workspace, id=conversation_id, seq=seq, user_id=user_id)  # for their other pages
        await _note(_BY_AGENT, workspace=workspace, id=conversation_id, seq=seq)


async def rate(workspace: str, conversation_id: str, rating: int, comment: str | None) -> None:
    """Store how a visitor rates a conversation that has ended, 1 to 5; the last rating counts.

    Raise ConversationNotFound; Conflict while it goes on, and a day after its end: what was said may be erased then.
    """
    values = {"workspace": workspace, "id": conversation_id, "rating": rating, "comment": comment}
    if not await _RATE.rows(**values, since=clock.now() - _ACCEPTED):
        if (await reads.rating(workspace, conversation_id))[-1] == "ended":
            raise Conflict("The conversation ended more than a day ago.", code="too_late")
        raise Conflict("The conversation has not ended yet.", code="not_ended")


async def _note(statement: Statement, **values: Any) -> None:
    if await statement.rows(**values):
        pubsub.publish(values["workspace"], values["id"])
