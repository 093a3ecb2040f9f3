"""Changes of many leads are made, some leads at a time."""

from leadwire.domain.bulk_changes import changes
from leadwire.infrastructure.jobs import Again, Claimed, job


@job("bulk_change", at_once=4, find=changes.running)
async def step(job: Claimed) -> Again | None:
    """The place that a change has come to stands in its row."""
    return Again() if await changes.step(job.workspace, job.key) else None
