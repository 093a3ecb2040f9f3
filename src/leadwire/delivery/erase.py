"""Erase what delivery keeps: about a person, their event bodies, unfinished deliveries and receivers' answers; of a
workspace that is deleted, everything.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from functools import partial
from typing import Any, Final

from leadwire.delivery.envelope import KINDS
from leadwire.infrastructure import batches, db, ids, jobs
from leadwire.infrastructure.db.queries import query
from leadwire.infrastructure.db.statements import Statement, named

_ALL: Final = list(KINDS)
_AT_ONCE: Final = 2_000  # events of each kind that are blanked
_ERASE: Final = named(__file__, "blank_bodies forget lock cancel cancel_dead blank_answers")
_SOME, _SOME_OLD, _COUNT_OLD, _ANY_LEFT, _LAST, _IN_ORDER = named(
    __file__, "some some_old count_old any_left last in_order"
)
_DELETE: Final = named(__file__, "delete_outbox delete_deliveries delete_results delete_attempts delete")
_BLANK_OLD: Final = named(__file__, "blank cancel_results blank_attempts")
_LOCK_OLD, _FINISHED = named(__file__, "lock_old finished")


async def delete_events(workspace: str, most: int) -> int:
    """Delete at most so many events of a workspace with all that became of them. Return how many.

    Events that are being sent are left out until their workers have recorded what came of it, or their leases end.
    Runs in a transaction.
    """
    event_ids = [row["id"] for row in await _SOME.rows(workspace=workspace, most=most)]
    return await batches.most(event_ids, partial(_run_all, _DELETE), "event.not_deleted")


@query()
async def has_events(workspace: str) -> bool:
    """Whether there are events of a workspace."""


async def erase_events(lead_id: str | None, conversation_ids: list[str], kinds: Sequence[str] = KINDS) -> None:
    """Blank every stored body about the lead and its conversations, and cancel what is still to be sent.

    Runs in the transaction of the erasure. A POST that is under way cannot be called back.
    """
    # Bodies first; then the outbox, which waits for a relay that is fanning out, so that its deliveries are seen next.
    about = {"lead_id": lead_id, "conversation_ids": conversation_ids, "kinds": kinds}
    rows = [row for statement in _ERASE for row in await statement.rows(**about)]
    held = {jobs.Offer(row["endpoint_id"], row["workspace_id"]) for row in rows if row["subject"]}
    await jobs.add_all("discard", list(held))


async def blank_events(workspace: str, since: datetime, until: datetime, least: int = 0) -> tuple[int, bool]:
    """Blank the bodies of some of a workspace's events in a span, and what receivers answered; cancel its dead letters.

    What is still to be sent is left as it is, and what fails, unless that leaves fewer than `least`. Return how many
    there were, and whether there are more.
    """
    async with _in_order(workspace, since, until) as span:
        rows = await _SOME_OLD.rows(**span, most=_AT_ONCE)
        blanked = await batches.most([row["id"] for row in rows], _blank, "event.not_blanked", least=least)
    return blanked, blanked > 0 and len(rows) >= _AT_ONCE  # what fails would be found again


async def any_left(workspace: str, since: datetime, until: datetime) -> bool:
    """Whether some of a workspace's events in a span still have their bodies: what is still to be sent, or failed."""
    async with _in_order(workspace, since, until) as span:
        return bool(await _ANY_LEFT.value(**span))


async def count_events(
    workspace: str, since: datetime, before: datetime, most: int
) -> tuple[int, datetime | None, bool]:
    """Count at most so many events of each kind that `blank_events` would blank. Return also when the oldest was
    recorded, and whether there are later ones.
    """
    async with _in_order(workspace, since, before) as span:
        count, oldest = await _COUNT_OLD.one(LookupError(), **span, most=most)
        last = await _LAST.value(workspace=workspace, kinds=_ALL)
    return count, ids.moment(oldest) if oldest else None, last is not None and last >= span["end"]


@asynccontextmanager
async def _in_order(workspace: str, since: datetime, until: datetime) -> AsyncIterator[dict[str, Any]]:
    """A transaction that reads a workspace's events of a span by their index, and the values that name them."""
    async with db.transaction():
        await _IN_ORDER.rows()
        first, end = (ids.floor("evt", moment) for moment in (since, until))
        yield {"workspace": workspace, "kinds": _ALL, "first": first, "end": end}


async def _blank(events: Sequence[str]) -> None:
    """Blank those of the events that nobody has let wait again meanwhile: their receivers would be sent nothing."""
    which = {"ids": events, "first": min(events), "last": max(events)}
    await _LOCK_OLD.rows(**which)
    if finished := [row["id"] for row in await _FINISHED.rows(**which)]:
        await _run_all(_BLANK_OLD, finished)


async def _run_all(statements: Sequence[Statement], events: Sequence[str]) -> None:
    for statement in statements:
        await statement.rows(ids=events, first=min(events), last=max(events))
