"""Silent conversations are nudged once, then ended."""

from typing import Final

from leadwire.domain.bots import reads
from leadwire.domain.bots.changes import visitor_sessions
from leadwire.domain.bots.flow.nodes import Flow
from leadwire.domain.conversations import changes as conversations
from leadwire.infrastructure import db, telemetry
from leadwire.infrastructure.db.queries import query
from leadwire.infrastructure.db.statements import named
from leadwire.infrastructure.errors import DomainError
from leadwire.infrastructure.jobs import Again, Claimed, Offer, job

_REFUSED: Final = 60.0  # seconds until the next look
_ONE, _LOCK_ONE = named(__file__, "one lock_one")


@query()
async def silent() -> list[Offer]:
    """Return jobs for conversations to be nudged or ended."""


@job("silence", at_once=4, find=silent, every=30)
async def nudge_or_end(job: Claimed) -> Again | None:
    """Nudge or end a conversation, unless its visitor is back. What cannot be nudged is looked at until it ends."""
    try:
        seen = await _ONE.row(conversation=job.key)
        flow = None if seen is None or seen["over"] else await reads.flow(*seen[1:4])
        async with db.transaction():
            await _nudge_or_end(job.key, flow)
    except DomainError as error:  # it is full, or its flow is one that cannot be used any more
        names = {"workspace_id": job.workspace, "conversation_id": job.key}
        telemetry.warn("silence.refused", error=error, **names)
        return Again(_REFUSED)
    return None


async def _nudge_or_end(conversation_id: str, flow: Flow | None) -> None:
    row = await _LOCK_ONE.row(conversation=conversation_id)
    if row and row["over"]:
        await conversations.end(row["workspace_id"], conversation_id, "system", "silence")
    elif row and flow:
        if flow.nudge_text and not row["blocked"]:
            await conversations.add_message(row["workspace_id"], conversation_id, "bot", flow.nudge_text)
        await visitor_sessions.record_nudge(conversation_id)
