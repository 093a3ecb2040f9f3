"""Erase what delivery keeps: about a person, their event bodies, unfinished deliveries and receivers' answers; of a
workspace that is deleted, everything.
"""

from typing import Final

from leadwire.delivery.table import END_CANCELED
from leadwire.infrastructure.db.statements import sql

_ABOUT: Final = "(v.lead_id = :lead_id OR v.conversation_id = ANY(:conversation_ids))"
# Blank the bodies; what was not relayed yet is not to be relayed any more.
_BLANK_BODIES: Final = sql(f"UPDATE event v SET body = '' WHERE {_ABOUT}")
_FORGET: Final = sql(f"DELETE FROM outbox o USING event v WHERE v.id = o.event_id AND {_ABOUT}")
# Cancel what is still to be sent, in the order in which workers record, and what could be sent again.
_CANCEL: Final = sql(f"""
WITH canceled AS (
    DELETE FROM delivery WHERE ctid = ANY(ARRAY(
        SELECT d.ctid FROM delivery d JOIN event v ON v.id = d.event_id WHERE {_ABOUT}
        ORDER BY d.event_id, d.endpoint_id FOR UPDATE OF d)) RETURNING *
)
{END_CANCELED}""")
_CANCEL_DEAD: Final = sql(f"""
UPDATE delivery_result d SET state = 'cancelled', finished_at = now() FROM event v
WHERE v.id = d.event_id AND d.state = 'dead' AND {_ABOUT}""")
# Blank what receivers answered: it may repeat what was sent.
_BLANK_ANSWERS: Final = sql(f"""
UPDATE attempt a SET response_body = NULL, error = NULL FROM event v WHERE v.id = a.event_id AND {_ABOUT}""")
# Some events of a workspace, without those that a worker may be sending.
_SOME: Final = sql("""
SELECT id FROM event v WHERE workspace_id = :workspace AND NOT EXISTS (
    SELECT 1 FROM delivery d WHERE d.event_id = v.id AND d.lease_until > now()) LIMIT :most""")
_ANY: Final = sql("SELECT EXISTS (SELECT 1 FROM event WHERE workspace_id = :workspace)")
_OF_EVENTS: Final = "{0} = ANY(:ids::text[]) AND {0} BETWEEN :first AND :last"
# What is still to be done first, so that nothing of it ends behind the sweep; events last, which the others hang on.
_DELETE: Final = tuple(
    sql(f"DELETE FROM {table} WHERE {_OF_EVENTS.format(key)}")
    for table, key in (
        ("outbox", "event_id"), ("delivery", "event_id"), ("delivery_result", "event_id"), ("attempt", "event_id"),
        ("event", "id"),
    )
)  # fmt: skip


async def delete_events(workspace: str, most: int) -> int:
    """Delete at most so many events of a workspace with all that became of them. Return how many.

    Events that are being sent are left out until their workers have recorded what came of it, or their leases end.
    Runs in a transaction.
    """
    found = [row["id"] for row in await _SOME.rows(workspace=workspace, most=most)]
    if found:
        for statement in _DELETE:
            await statement.rows(ids=found, first=min(found), last=max(found))
    return len(found)


async def has_events(workspace: str) -> bool:
    """Whether there are events of a workspace."""
    return bool(await _ANY.value(workspace=workspace))


async def erase_events(lead_id: str, conversation_ids: list[str]) -> None:
    """Blank every stored body about the lead and its conversations, and cancel what is still to be sent.

    Runs in the transaction of the erasure. A POST that is under way cannot be called back.
    """
    # Bodies first; then the outbox, which waits for a relay that is fanning out, so that its deliveries are seen next.
    for statement in (_BLANK_BODIES, _FORGET, _CANCEL, _CANCEL_DEAD, _BLANK_ANSWERS):
        await statement.rows(lead_id=lead_id, conversation_ids=conversation_ids)
