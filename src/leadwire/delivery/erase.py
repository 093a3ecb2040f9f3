"""Erase what delivery keeps: about a person, their event bodies, unfinished deliveries and receivers' answers; of a
workspace that is deleted, everything.
"""

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Final

from leadwire.delivery.envelope import KINDS
from leadwire.delivery.table import END_CANCELED
from leadwire.infrastructure import batches, db, ids
from leadwire.infrastructure.db.statements import Statement, sql

_ALL: Final = list(KINDS)
_AT_ONCE: Final = 2_000  # events of each kind that are blanked
_ABOUT: Final = "(v.lead_id = :lead_id OR v.conversation_id = ANY(:conversation_ids)) AND v.kind = ANY(:kinds)"
# Blank the bodies; what was not relayed yet is not to be relayed any more.
_BLANK_BODIES: Final = sql(f"UPDATE event v SET body = '' WHERE {_ABOUT}")
_FORGET: Final = sql(f"DELETE FROM outbox o USING event v WHERE v.id = o.event_id AND {_ABOUT}")
# Lock what is still to be sent, in the order in which workers record: what these commit meanwhile is seen next.
_LOCK: Final = sql(f"""
SELECT 1 FROM delivery d JOIN event v ON v.id = d.event_id WHERE {_ABOUT}
ORDER BY d.event_id, d.endpoint_id FOR UPDATE OF d""")
# Cancel what is still to be sent, and what could be sent again.
_CANCEL: Final = sql(f"""
WITH canceled AS (DELETE FROM delivery d USING event v WHERE v.id = d.event_id AND {_ABOUT} RETURNING d.*)
{END_CANCELED}""")
_CANCEL_DEAD: Final = sql(f"""
UPDATE delivery_result d SET state = 'cancelled', finished_at = now() FROM event v
WHERE v.id = d.event_id AND d.state = 'dead' AND {_ABOUT}""")
# Blank what receivers answered: it may repeat what was sent.
_BLANK_ANSWERS: Final = sql(f"""
UPDATE attempt a SET response_body = NULL, response_headers = NULL, error = NULL
FROM event v WHERE v.id = a.event_id AND {_ABOUT}""")
# Some events of a workspace, without those that a worker may be sending. Locked first, as by whoever sends them again.
_SOME: Final = sql("""
SELECT id FROM event v WHERE workspace_id = :workspace AND NOT EXISTS (
    SELECT 1 FROM delivery d WHERE d.event_id = v.id AND d.lease_until > now()) LIMIT :most FOR UPDATE""")
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
# What a workspace no longer keeps: some bodies of each kind of its events in a span, unless they are still to be sent.
_OLD: Final = """
FROM unnest(:kinds::text[]) AS known (kind) CROSS JOIN LATERAL (
    SELECT id FROM event v
    WHERE workspace_id = :workspace AND v.kind = known.kind AND id >= :first AND id < :end AND body <> ''
      AND NOT EXISTS (SELECT 1 FROM delivery d WHERE d.event_id = v.id)
      AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.event_id = v.id)
    ORDER BY xact LIMIT :most) old"""
_SOME_OLD: Final = sql(f"SELECT id {_OLD}")
_COUNT_OLD: Final = sql(f"SELECT count(*), min(id) {_OLD}")
_LAST: Final = sql("""
SELECT max(last.id) FROM unnest(:kinds::text[]) AS known (kind) CROSS JOIN LATERAL (
    SELECT id FROM event v WHERE workspace_id = :workspace AND v.kind = known.kind ORDER BY xact DESC LIMIT 1) last""")
# By the index of workspace, kind and xact, however few events the planner expects in the span: else it reads those of
# everybody.
_IN_ORDER: Final = sql("SELECT set_config('enable_sort', 'off', true)")
# Finished, they are in no other's hands; dead letters could be sent again.
_BLANK_OLD: Final = (
    sql(f"UPDATE event SET body = '' WHERE {_OF_EVENTS.format('id')}"),
    sql(f"UPDATE delivery_result SET state = 'cancelled', finished_at = now() WHERE state = 'dead'"
        f" AND {_OF_EVENTS.format('event_id')}"),
    sql(f"UPDATE attempt SET response_body = NULL, response_headers = NULL, error = NULL"
        f" WHERE {_OF_EVENTS.format('event_id')}"),
)  # fmt: skip


async def delete_events(workspace: str, most: int) -> int:
    """Delete at most so many events of a workspace with all that became of them. Return how many.

    Events that are being sent are left out until their workers have recorded what came of it, or their leases end.
    Runs in a transaction.
    """
    event_ids = [row["id"] for row in await _SOME.rows(workspace=workspace, most=most)]
    return await batches.most(event_ids, partial(_run_all, _DELETE), "event.not_deleted")


async def has_events(workspace: str) -> bool:
    """Whether there are events of a workspace."""
    return bool(await _ANY.value(workspace=workspace))


async def erase_events(lead_id: str | None, conversation_ids: list[str], kinds: Sequence[str] = KINDS) -> None:
    """Blank every stored body about the lead and its conversations, and cancel what is still to be sent.

    Runs in the transaction of the erasure. A POST that is under way cannot be called back.
    """
    # Bodies first; then the outbox, which waits for a relay that is fanning out, so that its deliveries are seen next.
    for statement in (_BLANK_BODIES, _FORGET, _LOCK, _CANCEL, _CANCEL_DEAD, _BLANK_ANSWERS):
        await statement.rows(lead_id=lead_id, conversation_ids=conversation_ids, kinds=kinds)


async def blank_events(workspace: str, since: datetime, until: datetime) -> tuple[int, bool]:
    """Blank the bodies of some of a workspace's events in a span, and what receivers answered; cancel its dead letters.

    What is still to be sent is left as it is. Return how many there were, and whether there are more.
    """
    span = {"first": ids.floor("evt", since), "end": ids.floor("evt", until)}
    async with db.transaction():
        await _IN_ORDER.rows()
        rows = await _SOME_OLD.rows(workspace=workspace, kinds=_ALL, most=_AT_ONCE, **span)
        blanked = await batches.most([row["id"] for row in rows], partial(_run_all, _BLANK_OLD), "event.not_blanked")
    return blanked, len(rows) >= _AT_ONCE


async def count_events(
    workspace: str, since: datetime, before: datetime, most: int
) -> tuple[int, datetime | None, bool]:
    """Count at most so many events of each kind that `blank_events` would blank. Return also when the oldest was
    recorded, and whether there are later ones.
    """
    span = {"first": ids.floor("evt", since), "end": ids.floor("evt", before)}
    async with db.transaction():
        await _IN_ORDER.rows()
        count, oldest = await _COUNT_OLD.one(LookupError(), workspace=workspace, kinds=_ALL, most=most, **span)
        last = await _LAST.value(workspace=workspace, kinds=_ALL)
    return count, ids.moment(oldest) if oldest else None, last is not None and last >= span["end"]


async def _run_all(statements: Sequence[Statement], events: Sequence[str]) -> None:
    for statement in statements:
        await statement.rows(ids=events, first=min(events), last=max(events))
