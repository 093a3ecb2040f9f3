"""Ends and wakes what operators have put off, see `changes.due`. Any number of processes may sweep at once."""

import asyncio
import logging
from typing import Final

from leadwire.delivery.relay.loop import Loop
from leadwire.domain.conversations.changes import due
from leadwire.infrastructure import clock, db, telemetry
from leadwire.infrastructure.db.statements import sql
from leadwire.infrastructure.errors import DomainError

_EVERY: Final = 1.0  # seconds
_AT_ONCE: Final = 200

_DUE: Final = sql(f"SELECT id, workspace_id {due.PAST} ORDER BY least(snoozed_until, end_due_at) LIMIT {_AT_ONCE}")


async def run(stop: asyncio.Event) -> None:
    """Sweep every second until `stop` is set."""

    async def look() -> float:
        return 0.0 if await sweep() == _AT_ONCE else _EVERY

    await Loop("due", look).run(stop)


async def sweep() -> int:
    """End and wake what is due, each in a transaction of its own. Return how many were found."""
    found = await _DUE.rows(now=clock.now())
    for conversation_id, workspace in found:
        try:
            async with db.transaction():
                await due.finish(workspace, conversation_id)
        except DomainError as error:
            names = {"workspace_id": workspace, "conversation_id": conversation_id}
            telemetry.log("due.refused", level=logging.WARNING, error=error, **names)
    return len(found)
