"""Changes of many leads are made, some leads at a time, and deleted a month after they ended."""

from leadwire.domain.bulk_changes import changes
from leadwire.infrastructure.jobs import Again, Claimed, chore, job

chore("bulk_change.delete")(changes.delete_old)


@job("bulk_change", at_once=4, find=changes.running)
async def step(job: Claimed) -> Again | None:
    """The place that a change has come to stands in its row."""
    return Again() if await changes.step(job.workspace, job.key) else None
