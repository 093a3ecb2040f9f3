"""Jobs: everything that is done in the background and is no delivery.

A job is a row, added in the transaction of its cause. A kind of job is a function in the `jobs.py` of the package it
belongs to; the process `leadwire background` imports each of these modules and runs what is due:

    @job("redrive")
    async def step(job: Claimed) -> Again | None: ...

    @job("search", batch=50)
    async def write(jobs: Sequence[Claimed]) -> None: ...

    @chore("session.delete", every=3600)
    async def delete_ended() -> None: ...

    await jobs.add("redrive", job_id, workspace)     # in the transaction of the change

A job may be done twice where its process dies; its function has to bear that. What raises is tried again after a pause
that grows, alone: a batch that fails is taken apart. After `TRIES` it is given up and shown. Nobody waits for it.
"""

from leadwire.infrastructure.jobs.kinds import Again as Again
from leadwire.infrastructure.jobs.kinds import chore as chore
from leadwire.infrastructure.jobs.kinds import job as job
from leadwire.infrastructure.jobs.queue import Claimed as Claimed
from leadwire.infrastructure.jobs.queue import Offer as Offer
from leadwire.infrastructure.jobs.queue import add as add
from leadwire.infrastructure.jobs.queue import add_all as add_all
from leadwire.infrastructure.jobs.queue import delete_batch as delete_batch
from leadwire.infrastructure.jobs.queue import remove as remove
from leadwire.infrastructure.jobs.queue import waiting as waiting
