"""Changes of many leads are begun, made in the background, and cancelled.

One lead is one transaction, with its event and the place that the change has come to: whatever stops it, it goes on
where it was, and nothing is done twice. What somebody else has changed since the list was seen is left alone.
"""

from typing import Final, Literal

import msgspec

from leadwire.domain.bulk_changes import reads as bulk_changes
from leadwire.domain.bulk_changes.table import BulkChange
from leadwire.domain.leads import changes as leads
from leadwire.domain.leads import reads
from leadwire.domain.leads.fields import patch
from leadwire.domain.leads.reads import LeadSearch
from leadwire.domain.leads.schema import Lead, custom_fields
from leadwire.domain.privacy import changes as privacy
from leadwire.infrastructure import actor, clock, db, ids, jobs
from leadwire.infrastructure.db.statements import columns, insert, sql
from leadwire.infrastructure.errors import Conflict, DomainError, Forbidden, Invalid, NotFound

Kind = Literal["set", "erase"]
MOST_CHOSEN: Final = 500
_AT_ONCE: Final = 50  # leads of a step
_REPORTED: Final = 100  # leads that are left alone and named

_BEGIN: Final = insert(
    *columns(BulkChange, "id workspace_id user_id kind field value query ids seen_at state created_at updated_at"),
    state="running",
)
# Whether whoever began it still may: people are erased by admins.
_ALLOWED: Final = """EXISTS (SELECT 1 FROM user_account u WHERE u.id = b.user_id AND u.workspace_id = b.workspace_id
    AND u.role IN ('admin', CASE b.kind WHEN 'set' THEN 'agent' END))"""
_RUNNING: Final = sql(f"""
SELECT b.*, {_ALLOWED} AS allowed FROM bulk_change b
WHERE b.workspace_id = :workspace AND b.id = :id AND b.state = 'running'""")
_ALL_RUNNING: Final = sql("SELECT id, workspace_id FROM bulk_change WHERE state = 'running'")
# Takes the change one lead further, unless another process or a person has moved or ended it meanwhile.
_MOVE: Final = sql(f"""
UPDATE bulk_change b SET after = :after, done = done + :done, skipped = skipped + :skipped, updated_at = :now,
    left_alone = left_alone || CASE WHEN :skipped > 0 AND cardinality(left_alone) < :most THEN ARRAY[:lead::text] END
WHERE workspace_id = :workspace AND id = :id AND state = 'running' AND after = :before AND {_ALLOWED} RETURNING id""")
# Takes the change on where no lead matches.
_PASS: Final = sql("""
UPDATE bulk_change SET after = :after, updated_at = :now
WHERE workspace_id = :workspace AND id = :id AND state = 'running' AND after = :before""")
# What has ended keeps neither who was looked for nor what was written: an erasure would have to find it.
_END: Final = sql("""
UPDATE bulk_change SET state = :state, query = '', ids = NULL, updated_at = :now,
    value = CASE WHEN value IS NOT NULL THEN '' END
WHERE workspace_id = :workspace AND id = :id AND state = 'running' RETURNING id""")


class _Query(LeadSearch, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A search as it is stored. A version that does not know one of its filters leaves the change to others: without
    it, more leads would match.
    """


_Stored = _Query | tuple[_Query]
"""A list of one: versions that look at one custom field cannot read it. They stored the search alone, and ignore what
they do not know in one."""


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
    query = "" if isinstance(which, list) else msgspec.json.encode([which]).decode()
    listed = sorted({one for one in which if ids.is_id("lead", one)}) if isinstance(which, list) else None
    made, now = ids.new("bulk"), clock.now()
    async with db.transaction():
        await _BEGIN.rows(
            id=made, workspace_id=workspace, user_id=user_id, kind=kind, field=field, value=value, query=query,
            ids=listed, seen_at=min(clock.parse(seen_at), now), created_at=now, updated_at=now,
        )  # fmt: skip
        await jobs.add("bulk_change", made, workspace)
    return made


async def _which(workspace: str, query: LeadSearch) -> LeadSearch | list[str]:
    """For an address return who has it now: later the search would find others, whose address contains it."""
    query = msgspec.structs.replace(query, after="", sort="newest")
    found = await reads.search(workspace, query, MOST_CHOSEN) if "@" in query.q else None
    return query if found is None or found.after else [lead.id for lead in found.items]


async def cancel(workspace: str, user_id: str, bulk_id: str, *, others: bool) -> None:
    """End a change of this person, or with `others` of anybody, where it is. Raise NotFound, also when it does not run;
    Forbidden.
    """
    if not others and (await bulk_changes.one(workspace, bulk_id))["user_id"] != user_id:
        raise Forbidden("Only whoever began this change, or an admin, can cancel it.")
    await _END.one(
        NotFound("It has ended already."), workspace=workspace, id=bulk_id, state="cancelled", now=clock.now()
    )


async def running() -> list[jobs.Offer]:
    """Return the changes that run: a version that knows no jobs may have begun some."""
    return [jobs.Offer(row["id"], row["workspace_id"]) for row in await _ALL_RUNNING.rows()]


async def step(workspace: str, bulk_id: str) -> bool:
    """Take a change some leads further. Return whether it goes on."""
    job = await _RUNNING.row(workspace=workspace, id=bulk_id)
    if job is None:
        return False
    actor.current.set(job["user_id"])  # their changes, whoever makes them
    return await _step(job) if job["allowed"] else await _end(job, "stopped")


async def _step(job: db.Row) -> bool:
    place, after = {"workspace": job["workspace_id"], "id": job["id"]}, job["after"]
    found, onward = await _leads(job)
    for lead, cursor in found:
        if not await _one(job, lead, after, cursor):
            return True  # somebody else goes on with it, or it is to end
        after = cursor
    if onward is None:
        return await _end(job, "finished")
    if onward != after:  # it has looked at leads behind the last that matches
        await _PASS.rows(**place, before=after, after=onward, now=clock.now())
    return True


async def _end(job: db.Row, state: str) -> bool:
    await _END.rows(workspace=job["workspace_id"], id=job["id"], state=state, now=clock.now())
    return False


async def _leads(job: db.Row) -> tuple[list[tuple[Lead | str, str]], str | None]:
    """The next leads, each with the place behind it; and the place to go on from, None at the end."""
    if job["ids"] is not None:
        left = [one for one in job["ids"] if one > job["after"]][: _AT_ONCE + 1]
        return [(one, one) for one in left[:_AT_ONCE]], left[_AT_ONCE - 1] if len(left) > _AT_ONCE else None
    stored = msgspec.json.decode(job["query"], type=_Stored)
    query = stored[0] if isinstance(stored, tuple) else stored
    found = await reads.search(job["workspace_id"], msgspec.structs.replace(query, after=job["after"]), _AT_ONCE)
    return [(lead, reads.place(lead)) for lead in found.items], found.after


async def _one(job: db.Row, lead: Lead | str, before: str, after: str) -> bool:
    """Change one lead. Return False when the change is not at this place any more."""
    workspace, lead_id = job["workspace_id"], lead if isinstance(lead, str) else lead.id
    for change in (True, False):  # the second time it is only reported
        moved = {"done": int(change), "skipped": int(not change), "lead": lead_id, "most": _REPORTED}
        try:
            async with db.transaction():
                here = {"workspace": workspace, "id": job["id"], "before": before, "after": after, "now": clock.now()}
                if await _MOVE.value(**here, **moved) is None:
                    return False
                if change:
                    await _apply(job, lead_id)
            return True
        except DomainError:
            continue
    return True


async def _apply(job: db.Row, lead_id: str) -> None:
    """Raise DomainError when it cannot be done, or must not."""
    stored = await reads.stored(job["workspace_id"], lead_id)
    if clock.parse(stored.lead.updated_at) > job["seen_at"]:
        raise Conflict("The lead has changed.", code="lead_changed")
    match = frozenset({stored.version})
    if job["kind"] == "erase":
        await privacy.erase_lead(job["workspace_id"], lead_id, if_match=match)
    else:
        change = patch(job["field"], job["value"], custom_fields(stored.lead).get(job["field"]))
        await leads.update(job["workspace_id"], lead_id, change, unchanged={}, if_match=match)
