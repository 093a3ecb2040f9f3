"""What is kept no longer goes, a batch at a time."""

import time

import msgspec

from leadwire.domain.privacy import retention
from leadwire.infrastructure.jobs import Again, Claimed, job


@job("retention", find=retention.due)
async def sweep(job: Claimed) -> Again | None:
    """It rests as long as it works. How far it has come stands in the row of the setting."""
    began = time.monotonic()
    workspace, kind = msgspec.convert(job.key.split(), tuple[str, retention.Kind])
    return Again(time.monotonic() - began) if await retention.sweep(workspace, kind) else None
