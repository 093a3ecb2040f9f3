"""Every change of a lead: one function, one transaction, with its events."""

from typing import Any, Final

import msgspec

from leadwire.domain.leads import events, field_texts, holders, merge, reads, schema
from leadwire.domain.leads.schema import Lead, LeadPatch, StoredLead
from leadwire.infrastructure import clock, db
from leadwire.infrastructure.db.statements import named, sql
from leadwire.infrastructure.errors import Conflict, FieldError, PreconditionFailed, ReadOnlyField

(_DELETE,) = named(__file__, "delete")
_NAMES: Final = ", ".join(schema.CONTENTS)
_VALUES: Final = ", ".join(f":{name}" for name in schema.CONTENTS)
UPDATE: Final = sql(f"""
WITH free AS MATERIALIZED (
    SELECT new.*, held.place FROM unnest(:event::text[], :workspace::text[], :id::text[], :version::int[],
        :updated_at::timestamptz[], {", ".join(f":{name}::{kind}[]" for name, kind in schema.CONTENTS.items())})
        AS new (event, workspace_id, id, version, updated_at, {_NAMES})
    CROSS JOIN LATERAL (SELECT ctid AS place FROM lead WHERE lead.workspace_id = new.workspace_id AND lead.id = new.id
        AND lead.version = new.version LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED) held
)
UPDATE lead SET ({_NAMES}, updated_at, version)
    = ROW({", ".join(f"free.{name}" for name in schema.CONTENTS)}, free.updated_at, lead.version + 1)
FROM free WHERE lead.ctid = free.place AND lead.workspace_id = free.workspace_id
RETURNING free.event""")
"""Change one or several leads, each with the version it was read with. One whose row somebody else holds is left out: a
customer's transaction makes nobody else wait.
"""
ADD: Final = f"""
person AS (
    INSERT INTO lead (workspace_id, id, bot_id, conversation_id, source_url, source_campaign, source_referrer,
        created_at, updated_at, {_NAMES})
    SELECT :workspace, :lead, :bot_id, changed.id, :source_url, :source_campaign, :source_referrer, :updated_at,
        :updated_at, {_VALUES} FROM changed
)"""
"""A lead's part in a statement that changes more than the lead: SQL `name AS (...)`, which selects from `changed`. The
values have the names of the columns; `lead` is its id.
"""
CHANGE: Final = f"""
person AS (
    UPDATE lead SET ({_NAMES}, updated_at, version) = ROW({_VALUES}, :lead_updated_at, version + 1)
    FROM changed WHERE lead.id = :lead
)"""
"""The same for a lead that there is."""


class LeadConflict(Conflict, code="lead_conflict", detail="Another lead of this bot has that e-mail address."):
    """Another lead of the bot has the e-mail address: see `conflicting_id`."""


async def update(
    workspace: str, lead_id: str, patch: LeadPatch, *, unchanged: dict[str, Any], if_match: frozenset[int] | None = None
) -> StoredLead:
    """Apply a merge patch. One that changes nothing writes nothing and emits no event.

    `unchanged` holds read-only members, which must have their present value. The lead is read, and written with the
    event if it still has the version that was read and nobody holds its row. Else it is read again under its lock.
    Raise NotFound, Invalid, ReadOnlyField, LeadConflict, PreconditionFailed.
    """
    patch = merge.normalized(patch)
    try:
        # In a transaction its response is stored and shows the lead: no erasure may come between.
        return await _update(workspace, lead_id, patch, unchanged, if_match, lock=db.in_transaction())
    except db.UniqueViolation as error:  # another lead got the address between reading and writing
        aborted = db.in_transaction()
        holder = None if aborted else await holders.holder_of_email(workspace, lead_id, str(patch.email))
        raise LeadConflict(conflicting_id=holder) from error


async def edit_field(workspace: str, lead_id: str, field: str, was: str, value: str) -> None:
    """Set a custom field of a lead, or remove it with an empty text, if it still reads as it `was`.

    Raise NotFound, Invalid; Conflict where somebody else has changed it, Unavailable where the lead changes meanwhile.
    """
    stored = await reads.stored(workspace, lead_id)
    present = schema.custom_fields(stored.lead).get(field)
    if (now := field_texts.as_text(present)) != was:
        word = f"It is {now} now" if present is not None else "It is empty now"
        raise Conflict(f"Somebody else has changed {field}. {word}.", code="lead_changed")
    patch = field_texts.patch(field, value or None, present)
    await update(workspace, lead_id, patch, unchanged={}, if_match=frozenset({stored.version}))


async def _update(
    workspace: str,
    lead_id: str,
    patch: LeadPatch,
    unchanged: dict[str, Any],
    if_match: frozenset[int] | None,
    *,
    lock: bool,
) -> StoredLead:
    before = await reads.stored(workspace, lead_id, lock=lock)
    if if_match is not None and before.version not in if_match:
        raise PreconditionFailed("The lead has changed since you read it.")
    _check_read_only(before.lead, unchanged)
    after = merge.patched(before.lead, patch)
    previous = schema.previous_attributes(before.lead, after)
    if not previous:
        return before
    if "email" in previous and after.email:
        holder = await holders.holder_of_email(workspace, after.id, after.email)
        if holder not in (None, after.id):
            raise LeadConflict(conflicting_id=holder)
    # Storing an address waits for another transaction that stores the same, and others must not wait with it.
    if (lock or "email" not in previous) and (stored := await _store(workspace, before, after, previous)):
        return stored
    async with db.transaction():
        return await _update(workspace, lead_id, patch, unchanged, if_match, lock=True)


async def _store(workspace: str, before: StoredLead, after: Lead, previous: dict[str, Any]) -> StoredLead | None:
    """Write a changed lead and its event. Return None when it was changed meanwhile, or its row is held."""
    now = clock.after(before.lead.updated_at, clock.now())
    after = msgspec.structs.replace(after, updated_at=clock.iso(now))
    values = {"workspace": workspace, "id": after.id, "version": before.version, "updated_at": now}
    event = events.changed(workspace, after, previous)
    written = await event.record_with(UPDATE, **values, **schema.contents(after))
    return StoredLead(after, before.version + 1) if written else None


async def delete(workspace: str, lead: Lead) -> None:
    """Delete the row of a lead, which the open transaction has locked; `privacy.erasure.erase_lead` does the rest."""
    await _DELETE.rows(workspace=workspace, id=lead.id)
    await events.deleted(workspace, lead).record()


def _check_read_only(lead: Lead, unchanged: dict[str, Any]) -> None:
    present = msgspec.to_builtins({name: getattr(lead, name) for name in unchanged})
    # A lead that was read may be sent back, after others have changed it or once more: its time is not looked at.
    differ = [name for name, value in unchanged.items() if name != "updated_at" and value != present[name]]
    if faults := tuple(FieldError("read_only_field", "This cannot be changed.", f"/{name}") for name in differ):
        raise ReadOnlyField("A read-only field has another value.", errors=faults)
