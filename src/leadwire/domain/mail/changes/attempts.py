"""What the loop writes: mails are claimed for a while, what came of each is recorded, and old ones are deleted.

Several processes may do this at once. A claim moves `due_at` into the future; who comes back after it finds another
`due_at`, and records nothing.
"""

import contextlib
from typing import Final

from leadwire.delivery import retry
from leadwire.delivery.states import Outcome as Attempted
from leadwire.domain.mail import changes, reads
from leadwire.domain.mail.schema import Claimed, Outcome, State
from leadwire.infrastructure import db, settings
from leadwire.infrastructure.db.statements import sql

_SENT_KEPT: Final = 7  # days, without their contents
_LONGEST_ERROR: Final = 300
# The rule is that of webhooks: what an attempt is like there, and what follows here.
_LIKE: Final[dict[Outcome, Attempted]] = {"sent": "delivered", "failed": "connect_error"}
_STATES: Final[dict[str, State]] = {"delivered": "sent", "waiting": "waiting"}

# Mails that are due, account mails first. Those of suspended workspaces are put off. Times are kept to the millisecond,
# so what is due at once may seem to be due in half of one.
_CLAIM: Final = sql("""
WITH due AS (
    SELECT m.id, w.suspended_at IS NOT NULL AS suspended FROM mail m JOIN workspace w ON w.id = m.workspace_id
    WHERE m.state = 'waiting' AND m.due_at <= now() + interval '1 millisecond'
    ORDER BY m.priority, m.due_at LIMIT :most FOR UPDATE OF m SKIP LOCKED
)
UPDATE mail m SET due_at = now() + CASE WHEN suspended THEN interval '5 minutes' ELSE make_interval(secs => :lease) END
FROM due WHERE m.id = due.id
RETURNING m.id, m.workspace_id, m.kind, m.recipient, m.data, m.attempts, m.created_at, m.due_at, suspended,
    EXISTS (SELECT 1 FROM mail_suppression s WHERE s.workspace_id = m.workspace_id AND s.address = m.recipient)""")
# What came of an attempt, unless the claim has ended.
_RECORD: Final = sql("""
UPDATE mail SET state = :state, attempts = attempts + 1, error = :error, due_at = now() + make_interval(secs => :delay),
    data = CASE WHEN :emptied THEN NULL ELSE data END, finished_at = CASE WHEN :state <> 'waiting' THEN now() END
WHERE id = :id AND due_at = :held AND state = 'waiting' RETURNING id""")
# A claim given back.
_RELEASE: Final = sql("UPDATE mail SET due_at = now() WHERE id = :id AND due_at = :held AND state = 'waiting'")
_REDRIVE: Final = sql("""
UPDATE mail SET state = 'waiting', attempts = 0, due_at = now(), finished_at = NULL
WHERE state = 'dead' AND (:id::text IS NULL OR id = :id) RETURNING id""")
_DELETE_OLD: Final = sql("""
DELETE FROM mail WHERE state = 'sent' AND finished_at < now() - make_interval(days => :sent)
    OR state = 'dead' AND finished_at < now() - make_interval(days => :dead)""")


async def claim(most: int, lease: float) -> list[Claimed]:
    """Claim mails that are due, for `lease` seconds."""
    return [Claimed(*row) for row in await _CLAIM.rows(most=most, lease=lease)]


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


async def release(mail: Claimed) -> None:
    """Let somebody else send a mail that was claimed and not tried."""
    await _RELEASE.rows(id=mail.id, held=mail.due_at)


async def redrive(mail_id: str | None = None) -> int:
    """Send a dead mail again, or all of them, with a new series of attempts. Return how many."""
    return len(await _REDRIVE.rows(id=mail_id))


async def delete_old() -> None:
    """Delete mails that were sent a week ago, and those that have been dead for as long as events are kept."""
    await _DELETE_OLD.rows(sent=_SENT_KEPT, dead=settings.get().retention_days)
