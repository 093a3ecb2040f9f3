"""Changes of many leads are begun and cancelled; a job makes them."""

from typing import Final, Literal

import msgspec

from leadwire.domain.bulk_changes import reads as bulk_changes
from leadwire.domain.leads import reads
from leadwire.domain.leads.field_texts import patch
from leadwire.domain.leads.reads import LeadSearch
from leadwire.infrastructure import clock, db, ids, jobs
from leadwire.infrastructure.db.queries import query
from leadwire.infrastructure.db.statements import named
from leadwire.infrastructure.errors import Forbidden, Invalid, NotFound

Kind = Literal["set", "erase"]
State = Literal["finished", "stopped", "cancelled"]
MOST_CHOSEN: Final = 500

(_BEGIN,) = named(__file__, "begin")


@query()
async def end(workspace: str, bulk_id: str, state: State) -> bool:
    """End a change that runs. Return whether it did."""


async def begin(
    workspace: str, user_id: str, kind: Kind, chosen: LeadSearch | list[str], seen_at: str,
    field: str = "", value: str | None = None,
) -> str:  # fmt: skip
    """Begin a change of the leads with these ids, or of all that match. Return its id. Raise Invalid."""
    if kind == "set":
        patch(field, value)
    if isinstance(chosen, list) and not 1 <= len(chosen) <= MOST_CHOSEN:
        raise Invalid(f"Choose 1 to {MOST_CHOSEN} leads.")
    which = chosen if isinstance(chosen, list) else await _which(workspace, chosen)
    search = "" if isinstance(which, list) else msgspec.json.encode([which]).decode()
    listed = sorted({lead_id for lead_id in which if ids.is_id("lead", lead_id)}) if isinstance(which, list) else None
    bulk_id, now = ids.new("bulk"), clock.now()
    async with db.transaction():
        await _BEGIN.rows(
            id=bulk_id, workspace_id=workspace, user_id=user_id, kind=kind, field=field, value=value, query=search,
            ids=listed, seen_at=min(clock.parse(seen_at), now), created_at=now, updated_at=now,
        )  # fmt: skip
        await jobs.add("bulk_change", bulk_id, workspace)
    return bulk_id


async def _which(workspace: str, search: LeadSearch) -> LeadSearch | list[str]:
    """For an address return who has it now: later the search would find others, whose address contains it."""
    search = msgspec.structs.replace(search, after="", sort="newest")
    page = await reads.search(workspace, search, MOST_CHOSEN) if "@" in search.q else None
    return search if page is None or page.after else [lead.id for lead in page.items]


async def cancel(workspace: str, user_id: str, bulk_id: str, *, others: bool) -> None:
    """End a change of this person, or with `others` of anybody, where it is. Raise NotFound, also when it does not run;
    Forbidden.
    """
    if not others and (await bulk_changes.one(workspace, bulk_id))["user_id"] != user_id:
        raise Forbidden("Only whoever began this change, or an admin, can cancel it.")
    if not await end(workspace, bulk_id, "cancelled"):
        raise NotFound("It has ended already.")
