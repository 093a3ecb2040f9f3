"""A mail is claimed for a while, what came of it is recorded, and old ones are deleted.

A claim moves `due_at` into the future; who comes back after it finds another `due_at`, and records nothing.
"""

import contextlib
from typing import Final

from leadwire.delivery import retry
from leadwire.delivery.states import Outcome as Attempted
from leadwire.domain.mail import changes, reads
from leadwire.domain.mail.schema import JOBS, Claimed, Outcome, State
from leadwire.infrastructure import db, jobs, settings
from leadwire.infrastructure.db.queries import query
from leadwire.infrastructure.db.statements import named
from leadwire.infrastructure.jobs import Offer

_LONGEST_ERROR: Final = 300
# The rule is that of webhooks: what an attempt is like there, and what follows here.
_LIKE: Final[dict[Outcome, Attempted]] = {"sent": "delivered", "failed": "connect_error"}
_STATES: Final[dict[str, State]] = {"delivered": "sent", "waiting": "waiting"}

_RECORD, _REDRIVE, _WITHOUT_JOB = named(__file__, "record redrive without_job")


@query()
async def claim(mail_id: str) -> Claimed | None:
    """Claim a mail, if it is due."""


@query()
async def due_in(mail_id: str) -> float | None:
    """Return the seconds until a mail is due, or None: it is not to be sent any more."""


async def record(mail: Claimed, outcome: Outcome, error: str = "") -> State | None:
    """Record what came of an attempt. Return the mail's state, or None when the claim had ended.

    A refused recipient is suppressed. What is sent is emptied, except in the mailbox of `leadwire up`.
    """
    step = retry.after(_LIKE.get(outcome, "gone"), mail.attempts + 1, settings.get().retry_schedule)
    state = _STATES.get(step.state, "dead")
    emptied = state == "sent" and not reads.is_mailbox()
    values = {"id": mail.id, "held": mail.due_at, "state": state, "delay": step.delay, "emptied": emptied}
    error = error[:_LONGEST_ERROR]
    async with db.transaction() if outcome == "refused" else contextlib.nullcontext():
        recorded = await _RECORD.row(**values, error=error or None)
        if recorded and outcome == "refused":
            await changes.suppress(mail.workspace_id, mail.recipient, error)
    return state if recorded else None


async def redrive(mail_id: str | None = None) -> int:
    """Send a dead mail again, or all of them, with a new series of attempts. Return how many."""
    async with db.transaction():
        rows = await _REDRIVE.rows(id=mail_id)
        for priority, kind in enumerate(JOBS):
            await jobs.add_all(kind, [Offer(*mail) for of, *mail in rows if of == priority])
    return len(rows)


async def without_job(priority: int) -> list[Offer]:
    """Return jobs for mails that have none."""
    return [Offer(*row) for row in await _WITHOUT_JOB.rows(priority=priority, kind=JOBS[priority])]
