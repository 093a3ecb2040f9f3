"""What is old enough to go: conversations by when they ended, leads by when something last happened to them.

Nothing here reads more rows than it is told, whatever a workspace has.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from msgspec import Struct

from leadwire.domain.conversations.table import Conversation
from leadwire.infrastructure import db
from leadwire.infrastructure.db.statements import named

COUNTED: Final = 2_000
"""Rows that a preview counts or looks at."""

_COUNT_ENDED: Final = dict(zip((False, True), named(__file__, "count_ended count_ended_of_leads"), strict=True))
_ENDED, _LEADS, _COUNT_LEADS, _LAST_AT = named(__file__, "ended leads count_leads lead_last_at")


class Old(Struct, frozen=True):
    """What a preview shows: how many would go, whether there may be more, the oldest, and whether any would stay."""

    count: int
    more: bool
    oldest: datetime | None
    some_stay: bool


async def count_ended(workspace: str, before: datetime, after: datetime, *, with_lead: bool) -> Old:
    """Count the conversations that ended in a span."""
    values = {"workspace": workspace, "before": before, "after": after, "most": COUNTED + 1}
    count, oldest, newer = await _COUNT_ENDED[with_lead].one(LookupError(), **values)
    return Old(min(count, COUNTED), count > COUNTED, oldest, newer)


async def count_leads(workspace: str, before: datetime, after: datetime) -> Old:
    """Count the leads to which nothing has happened since `before`, among those that were captured first."""
    values = {"workspace": workspace, "before": before, "after": after, "after_id": "", "most": COUNTED}
    looked, count, oldest, newer = await _COUNT_LEADS.one(LookupError(), **values)
    return Old(count, looked == COUNTED, oldest if count else None, newer or count < looked)


async def lock_ended(workspace: str, before: datetime, most: int, *, with_lead: bool) -> list[str]:
    """Lock some conversations that ended before a time, for the open transaction. Return their ids."""
    lead = Conversation.lead_id.is_not_null() if with_lead else Conversation.lead_id.is_null()
    old = (Conversation.workspace_id == workspace, Conversation.ended_at < before, lead)
    first = Conversation.select(Conversation.id).where(*old).order_by(Conversation.ended_at).limit(most)
    # What somebody else has locked is left for the next time.
    return await first.lock_rows("UPDATE", skip_locked=True).output(as_list=True)


async def ended(workspace: str, before: datetime, after: datetime, most: int) -> tuple[list[str], datetime]:
    """Return the ids of those that ended first in a span, and when the last of them did. At least `most`, if there are
    so many: those that ended at one moment come together.
    """
    rows = await _ENDED.rows(workspace=workspace, before=before, after=after, most=most)
    return [row["id"] for row in rows], max((row["ended_at"] for row in rows), default=after)


async def leads(workspace: str, before: datetime, after: tuple[datetime, str], most: int) -> Sequence[db.Row]:
    """Return leads with `id`, `created_at`, and `last_at`: when something last happened to it."""
    values: dict[str, Any] = {"after": after[0], "after_id": after[1], "most": most}
    return await _LEADS.rows(workspace=workspace, before=before, **values)


async def lead_last_at(workspace: str, lead_id: str) -> datetime:
    """Return when something last happened to a lead that is there."""
    last_at: datetime = await _LAST_AT.value(workspace=workspace, lead_id=lead_id)
    return last_at
