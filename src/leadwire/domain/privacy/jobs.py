"""What is kept no longer goes: of workspaces a batch at a time, and once an hour what tables declare to have ended."""

import time
from functools import partial

import msgspec

from leadwire.domain.privacy import retention
from leadwire.infrastructure.db.declared import declaration, every, name
from leadwire.infrastructure.jobs import Again, Claimed, chore, job

for table in every():
    if (said := declaration(table)).ends:
        chore(f"{said.chore or name(table)}.delete")(partial(retention.delete_ended, table))


@job("retention", find=retention.due)
async def sweep(job: Claimed) -> Again | None:
    """It rests as long as it works. How far it has come stands in the row of the setting."""
    began = time.monotonic()
    workspace, kind = msgspec.convert(job.key.split(), tuple[str, retention.Kind])
    return Again(time.monotonic() - began) if await retention.sweep(workspace, kind, job.tries) else None
