"""Domains are checked whose turn has come."""

import contextlib

from leadwire.domain.accounts.domains import changes as domains
from leadwire.domain.accounts.domains import reads
from leadwire.infrastructure.errors import NotFound
from leadwire.infrastructure.jobs import Claimed, job


@job("domain.check", at_once=4, limit=60.0, find=reads.due)
async def check(job: Claimed) -> None:
    """Look for the record of a domain again."""
    with contextlib.suppress(NotFound):  # removed meanwhile
        await domains.check(job.workspace, job.key, "domains")
