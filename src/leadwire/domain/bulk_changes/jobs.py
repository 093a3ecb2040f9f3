"""Changes of many leads are made, some leads at a time.

One lead is one transaction, with its event and the place that the change has come to: whatever stops it, it goes on
where it was, and nothing is done twice. What somebody else has changed since the list was seen is left alone.
"""

from typing import Final

import msgspec

from leadwire.domain.bulk_changes import changes
from leadwire.domain.leads import changes as leads
from leadwire.domain.leads import reads
from leadwire.domain.leads.field_texts import patch
from leadwire.domain.leads.reads import LeadSearch
from leadwire.domain.leads.schema import Lead, custom_fields
from leadwire.domain.privacy import erasure
from leadwire.infrastructure import actor, clock, db
from leadwire.infrastructure.db.queries import query
from leadwire.infrastructure.errors import Conflict, DomainError
from leadwire.infrastructure.jobs import Again, Claimed, Offer, job

_AT_ONCE: Final = 50  # leads of a step


class _Query(LeadSearch, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A search as it is stored. A version that does not know one of its filters leaves the change to others: without
    it, more leads would match.
    """


_Stored = _Query | tuple[_Query]
"""A list of one: versions that look at one custom field cannot read it. They stored the search alone, and ignore what
they do not know in one."""


@query()
async def _running(workspace: str, bulk_id: str) -> db.Row | None: ...


@query()
async def _move(
    workspace: str, bulk_id: str, before: str, after: str, lead_id: str | None = None, skipped: bool = False
) -> bool: ...


@query()
async def all_running() -> list[Offer]:
    """Return the changes that run: a version that knows no jobs may have begun some."""


@job("bulk_change", at_once=4, find=all_running)
async def make(job: Claimed) -> Again | None:
    """Take a change some leads further. The place that it has come to stands in its row."""
    change = await _running(job.workspace, job.key)
    if change is None:
        return None
    actor.current.set(change["user_id"])  # their changes, whoever makes them
    if not change["allowed"]:
        await changes.end(job.workspace, job.key, "stopped")
        return None
    return Again() if await _step(change) else None


async def _step(change: db.Row) -> bool:
    """Take a change some leads further. Return whether it goes on."""
    after = change["after"]
    rows, onward = await _leads(change)
    for lead, cursor in rows:
        if not await _one(change, lead, after, cursor):
            return True  # somebody else goes on with it, or it is to end
        after = cursor
    if onward is None:
        await changes.end(change["workspace_id"], change["id"], "finished")
        return False
    if onward != after:  # it has looked at leads behind the last that matches
        await _move(change["workspace_id"], change["id"], after, onward)
    return True


async def _leads(change: db.Row) -> tuple[list[tuple[Lead | str, str]], str | None]:
    """The next leads, each with the place behind it; and the place to go on from, None at the end."""
    if change["ids"] is not None:
        left = [lead_id for lead_id in change["ids"] if lead_id > change["after"]][: _AT_ONCE + 1]
        return [(lead_id, lead_id) for lead_id in left[:_AT_ONCE]], left[_AT_ONCE - 1] if len(left) > _AT_ONCE else None
    stored = msgspec.json.decode(change["query"], type=_Stored)
    search = stored[0] if isinstance(stored, tuple) else stored
    page = await reads.search(change["workspace_id"], msgspec.structs.replace(search, after=change["after"]), _AT_ONCE)
    return [(lead, reads.place(lead)) for lead in page.items], page.after


async def _one(change: db.Row, lead: Lead | str, before: str, after: str) -> bool:
    """Change one lead. Return False when the change is not at this place any more."""
    workspace, lead_id = change["workspace_id"], lead if isinstance(lead, str) else lead.id
    for apply in (True, False):  # the second time it is only reported
        try:
            async with db.transaction():
                if not await _move(workspace, change["id"], before, after, lead_id, not apply):
                    return False
                if apply:
                    await _apply(change, lead_id)
            return True
        except DomainError:
            continue
    return True


async def _apply(change: db.Row, lead_id: str) -> None:
    """Raise DomainError when it cannot be done, or must not."""
    stored = await reads.stored(change["workspace_id"], lead_id)
    if clock.parse(stored.lead.updated_at) > change["seen_at"]:
        raise Conflict("The lead has changed.", code="lead_changed")
    match = frozenset({stored.version})
    if change["kind"] == "erase":
        await erasure.erase_lead(change["workspace_id"], lead_id, if_match=match)
    else:
        field = change["field"]
        value = patch(field, change["value"], custom_fields(stored.lead).get(field))
        await leads.update(change["workspace_id"], lead_id, value, unchanged={}, if_match=match)
