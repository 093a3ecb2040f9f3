"""What operators have put off is done when its time has come."""

from leadwire.domain.conversations.changes import due
from leadwire.infrastructure.jobs import Again, Claimed, job


@job(due.JOB, at_once=4, find=due.without_job, every=30)
async def finish(job: Claimed) -> Again | None:
    """End or wake a conversation."""
    return await due.finish(job.workspace, job.key)
