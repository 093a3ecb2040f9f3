"""Once an hour, what has ended is deleted, and domains are checked whose turn has come."""

import contextlib
from collections.abc import Sequence

from leadwire.domain.accounts.domains import changes as domains
from leadwire.domain.accounts.domains import reads
from leadwire.domain.accounts.sign_in.changes import password_reset, sessions
from leadwire.domain.accounts.sso.changes import sign_in
from leadwire.infrastructure import idempotency_store
from leadwire.infrastructure.errors import NotFound
from leadwire.infrastructure.jobs import Claimed, Offer, chore, job

chore("session.delete")(sessions.delete_ended)
chore("password_reset.delete")(password_reset.delete_expired)
chore("sign_on_used.delete")(sign_in.forget_used)
chore("idempotent_answer.delete")(idempotency_store.expire)  # of requests with the accounts' keys


async def _due() -> Sequence[Offer]:
    return [Offer(domain_id, workspace) for domain_id, workspace in await reads.due()]


@job("domain.check", at_once=4, limit=60.0, find=_due)
async def check(job: Claimed) -> None:
    """Look for the record of a domain again."""
    with contextlib.suppress(NotFound):  # removed meanwhile
        await domains.check(job.workspace, job.key, "domains")
