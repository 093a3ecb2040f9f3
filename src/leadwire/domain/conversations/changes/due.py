"""What happens to a conversation a while after an operator has asked for it: it ends, or comes back to them.

An end is done after ten seconds, in which it can be undone: until then nothing has been said of it, neither to the
visitor nor in an event. A job does it.
"""

from datetime import datetime, timedelta
from typing import Final

from leadwire.domain.conversations import changes, pubsub
from leadwire.domain.conversations.changes.inbox import check, claim, locked
from leadwire.domain.conversations.table import Conversation
from leadwire.infrastructure import clock, db, jobs
from leadwire.infrastructure.db.statements import param, sql, statement
from leadwire.infrastructure.errors import Invalid
from leadwire.infrastructure.jobs import Again, Offer

JOB: Final = "conversation_due"
UNDO: Final = timedelta(seconds=10)
_LONGEST: Final = timedelta(days=90)

_ONE: Final = (Conversation.workspace_id == param("workspace"), Conversation.id == param("id"))
_END_AT: Final = statement(Conversation.update(end_due_at=param("at")).where(*_ONE))
_SNOOZE: Final = statement(Conversation.update(snoozed_until=param("at"), end_due_at=None).where(*_ONE))
_PUT_OFF: Final = "(snoozed_until IS NOT NULL OR end_due_at IS NOT NULL)"
_LOCK: Final = sql(f"""
SELECT least(snoozed_until, end_due_at) AS at, coalesce(end_due_at <= :now, false) AS over FROM conversation
WHERE id = :id AND {_PUT_OFF} FOR UPDATE NOWAIT""")
# What a process of the version before has put off.
_WITHOUT_JOB: Final = sql(f"""
SELECT id, workspace_id FROM conversation c WHERE least(snoozed_until, end_due_at) <= :now AND {_PUT_OFF}
    AND NOT EXISTS (SELECT 1 FROM job j WHERE j.kind = '{JOB}' AND j.key = c.id)
ORDER BY least(snoozed_until, end_due_at) LIMIT 200""")
# It is new to them again, and its silence begins now.
_WAKE: Final = sql("""
WITH unread AS (
    UPDATE conversation_read r SET seq = least(seq, (SELECT max(m.seq) - 1 FROM message m
        WHERE m.conversation_id = r.conversation_id AND m.role = 'user')) WHERE conversation_id = :id
)
UPDATE conversation SET snoozed_until = NULL, updated_at = :now WHERE workspace_id = :workspace AND id = :id""")


async def end(workspace: str, conversation_id: str, user_id: str) -> None:
    """End the conversation in ten seconds, unless another operator has it. Raise as `inbox.claim`."""
    async with locked(workspace, conversation_id) as (status, holder):
        await check(workspace, status, holder, None, user_id)
        at = clock.now() + UNDO
        await _END_AT.rows(workspace=workspace, id=conversation_id, at=at)
        await jobs.add(JOB, conversation_id, workspace, at)


async def undo_end(workspace: str, conversation_id: str, user_id: str) -> None:
    """Let a conversation go on that was to end. Raise as `inbox.claim`."""
    async with locked(workspace, conversation_id) as (status, holder):
        await check(workspace, status, holder, None, user_id)
        await _END_AT.rows(workspace=workspace, id=conversation_id, at=None)


async def snooze(workspace: str, conversation_id: str, user_id: str, until: datetime) -> None:
    """Take a conversation and put it away until a time or until the visitor writes. Raise as `inbox.claim`; Invalid."""
    if not clock.now() < until <= clock.now() + _LONGEST:
        raise Invalid(f"Choose a time within the next {_LONGEST.days} days.")
    async with db.transaction():
        await claim(workspace, conversation_id, user_id)
        await _SNOOZE.rows(workspace=workspace, id=conversation_id, at=until)
        await jobs.add(JOB, conversation_id, workspace, until)


async def wake(workspace: str, conversation_id: str, user_id: str) -> None:
    """Bring a snoozed conversation back at once. Raise as `inbox.claim`."""
    async with locked(workspace, conversation_id) as (status, holder):
        await check(workspace, status, holder, user_id)
        await _SNOOZE.rows(workspace=workspace, id=conversation_id, at=None)


async def finish(workspace: str, conversation_id: str) -> Again | None:
    """End or wake a conversation, unless that was undone or is due later. Raise what the change raises."""
    now = clock.now()
    async with db.transaction():
        due = await _LOCK.row(id=conversation_id, now=now)
        if due is None:
            return None
        if due["at"] > now:
            return Again((due["at"] - now).total_seconds())
        if due["over"]:
            await changes.end(workspace, conversation_id, "agent", "closed by an operator")
        else:
            await _WAKE.rows(workspace=workspace, id=conversation_id, now=now)
            pubsub.publish(workspace, conversation_id)
    return None


async def without_job() -> list[Offer]:
    """Return jobs for conversations that are due and have none."""
    return [Offer(*row) for row in await _WITHOUT_JOB.rows(now=clock.now())]
