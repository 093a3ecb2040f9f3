"""What operators have put off is done when its time has come: an end, or a wake-up."""

from datetime import datetime

from leadwire.domain.conversations import changes, pubsub
from leadwire.domain.conversations.changes import end_and_snooze
from leadwire.infrastructure import clock, db
from leadwire.infrastructure.db.queries import query
from leadwire.infrastructure.jobs import Again, Claimed, Offer, job


@query()
async def _lock(conversation_id: str, now: datetime) -> tuple[datetime, bool] | None: ...


@query()
async def _wake(workspace: str, conversation_id: str, now: datetime) -> None: ...


@query()
async def without_job() -> list[Offer]:
    """Return jobs for conversations that are due and have none."""


@job(end_and_snooze.JOB, at_once=4, find=without_job, every=30, ahead=None)
async def finish(job: Claimed) -> Again | None:
    """End or wake a conversation, unless that was undone or is due later. Raise what the change raises."""
    now = clock.now()
    async with db.transaction():
        put_off = await _lock(job.key, now)
        if put_off is None:
            return None
        at, over = put_off
        if at > now:
            return Again((at - now).total_seconds())
        if over:
            await changes.end(job.workspace, job.key, "agent", "closed by an operator")
        else:
            await _wake(job.workspace, job.key, now)
            pubsub.publish(job.workspace, job.key)
    return None
