"""People are told of what happens while nobody looks: of each kind, a workspace is a job."""

from typing import Final

from leadwire.domain.notices import changes, reads
from leadwire.domain.notices.changes import addresses
from leadwire.domain.notices.schema import Kind
from leadwire.infrastructure.jobs import Again, Claimed, Offer, job

# Seconds. A look for dead letters costs most, and nobody waits for it.
_EVERY: Final[dict[Kind, float]] = {"endpoints": 20.0, "waiting": 20.0, "dead_letters": 900.0}


def _declare(kind: Kind, every: float) -> None:
    async def find() -> list[Offer]:
        await changes.forget()
        return [Offer(workspace, workspace) for workspace in await reads.due(kind)]

    @job(f"notice_{kind}", at_once=4, find=find, every=every)
    async def tell(job: Claimed) -> None:
        await changes.tell(job.workspace, kind)


for kind, every in _EVERY.items():
    _declare(kind, every)


@job(addresses.JOB, at_once=4, ahead=None)
async def send(job: Claimed) -> Again | None:
    """Send what waits for an address at Slack or Teams. What fails is told at the address, not to the operator."""
    return await addresses.send_next(job.key)
