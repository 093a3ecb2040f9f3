"""Visitors who stop writing: nudged once, then the conversation is ended. Any number of processes may sweep at once."""

import logging
from collections import Counter
from typing import Final, Literal

from leadwire.domain.bots import reads
from leadwire.domain.bots.changes import visitor_sessions
from leadwire.domain.conversations import changes as conversations
from leadwire.infrastructure import db, telemetry
from leadwire.infrastructure.db.statements import sql
from leadwire.infrastructure.errors import DomainError

_EVERY: Final = 30.0  # seconds
_AT_ONCE: Final = 500

# Conversations to be nudged or ended. After a nudge the rest of the minutes runs from it. Every message sets
# `updated_at`.
_SILENT: Final = """
SELECT c.id, c.workspace_id, c.bot_id, c.flow_version, over.so AS over
FROM conversation c JOIN visit v ON v.conversation_id = c.id,
LATERAL (SELECT now() - c.updated_at > CASE
    WHEN c.status = 'handoff' THEN interval '24 hours'
    WHEN v.nudged_at >= c.updated_at THEN (v.inactivity_minutes - v.nudge_minutes) * interval '1 minute'
    ELSE v.inactivity_minutes * interval '1 minute' END AS so) over
WHERE c.status <> 'ended' AND c.snoozed_until IS NULL AND c.updated_at < now() - interval '1 minute'
  AND (over.so OR c.status = 'active' AND v.nudged_at IS NULL
       AND now() - c.updated_at > v.nudge_minutes * interval '1 minute')"""
_DUE: Final = sql(f"{_SILENT} ORDER BY c.updated_at LIMIT {_AT_ONCE}")
_LOCK_ONE: Final = sql(f"{_SILENT} AND c.id = :conversation FOR UPDATE OF c SKIP LOCKED")


async def look() -> float:
    """Sweep. Return the seconds until the next time."""
    await sweep()
    return _EVERY


async def sweep() -> tuple[int, int]:
    """Nudge and end, each conversation in a transaction of its own: one that fails is left for the next round and does
    not hold up the others. Return how many of each.
    """
    done: Counter[str] = Counter()
    for conversation_id, workspace, *_ in await _DUE.rows():
        try:
            async with db.transaction():
                outcome = await _nudge_or_end(conversation_id)
        except DomainError as error:  # it is full, or its flow is one that cannot be used any more
            names = {"workspace_id": workspace, "conversation_id": conversation_id}
            telemetry.log("silence.refused", level=logging.WARNING, error=error, **names)
        else:
            done[outcome] += 1
    if done["nudged"] or done["ended"]:
        telemetry.log("silence.swept", nudged=done["nudged"], ended=done["ended"])
    return done["nudged"], done["ended"]


async def _nudge_or_end(conversation_id: str) -> Literal["nudged", "ended", "nothing"]:
    found = await _LOCK_ONE.row(conversation=conversation_id)
    if found is None:  # another process has it, or the visitor is back
        return "nothing"
    _, workspace, bot_id, version, over = found
    if over:
        await conversations.end(workspace, conversation_id, "system", "silence")
        return "ended"
    flow = await reads.flow(workspace, bot_id, version)
    if flow.nudge_text:
        await conversations.add_message(workspace, conversation_id, "bot", flow.nudge_text)
    await visitor_sessions.record_nudge(conversation_id)
    return "nudged"
