"""Every change of a lead: one function, one transaction, with its events."""

from typing import Any, Final

import msgspec

from leadwire.domain.leads import events, fields, identity, reads, schema, table
from leadwire.domain.leads.schema import Lead, LeadPatch, Source, StoredLead
from leadwire.infrastructure import clock, db, ids
from leadwire.infrastructure.db.statements import delete_some, insert, named, param, statement
from leadwire.infrastructure.errors import Conflict, FieldError, Invalid, PreconditionFailed, ReadOnlyField, Unavailable

_CONTENTS: Final = ("email", "name", "phone", "company", "score", "custom_fields")
_LEAD: Final = (table.Lead.workspace_id == param("workspace"), table.Lead.id == param("id"))
_UPDATE, _KNOWN, _ONE_AT_A_TIME = named(__file__, "update known one_at_a_time")
_INSERT: Final = insert(
    *(column for column in table.Lead._meta.columns if column._meta.name != "version"),
    end="ON CONFLICT DO NOTHING RETURNING id",
)
_DELETE: Final = statement(table.Lead.delete().where(*_LEAD))
_DELETE_SOME: Final = delete_some(table.Lead)


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
    patch = _normalized(patch)
    try:
        # In a transaction its response is stored and shows the lead: no erasure may come between.
        return await _update(workspace, lead_id, patch, unchanged, if_match, lock=db.in_transaction())
    except db.UniqueViolation as error:  # another lead got the address between reading and writing
        aborted = db.in_transaction()
        holder = None if aborted else await reads.holder_of_email(workspace, lead_id, str(patch.email))
        raise LeadConflict(conflicting_id=holder) from error


async def edit_field(workspace: str, lead_id: str, field: str, was: str, value: str) -> None:
    """Set a custom field of a lead, or remove it with an empty text, if it still reads as it `was`.

    Raise NotFound, Invalid; Conflict where somebody else has changed it, Unavailable where the lead changes meanwhile.
    """
    stored = await reads.stored(workspace, lead_id)
    present = schema.custom_fields(stored.lead).get(field)
    if (now := fields.as_text(present)) != was:
        word = f"It is {now} now" if present is not None else "It is empty now"
        raise Conflict(f"Somebody else has changed {field}. {word}.", code="lead_changed")
    patch = fields.patch(field, value or None, present)
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
    after = patch.applied_to(before.lead)
    _check_reachable(after)
    previous = schema.changed(before.lead, after)
    if not previous:
        return before
    if "email" in previous and after.email:
        holder = await reads.holder_of_email(workspace, after.id, after.email)
        if holder not in (None, after.id):
            raise LeadConflict(conflicting_id=holder)
    # Storing an address waits for another transaction that stores the same, and others must not wait with it.
    if (lock or "email" not in previous) and (stored := await _store(workspace, before, after, previous)):
        return stored
    async with db.transaction():
        return await _update(workspace, lead_id, patch, unchanged, if_match, lock=True)


async def _store(workspace: str, before: StoredLead, after: Lead, previous: dict[str, Any]) -> StoredLead | None:
    """Write a changed lead and its event. Return None when it was changed meanwhile, or its row is held."""
    now = clock.now()
    after = msgspec.structs.replace(after, updated_at=clock.iso(now))
    values = {"workspace": workspace, "id": after.id, "version": before.version, "updated_at": now}
    event = events.changed(workspace, after, previous)
    written = await event.record_with(_UPDATE, **values, **_contents(after))
    return StoredLead(after, before.version + 1) if written else None


async def capture(workspace: str, bot_id: str, conversation_id: str, found: LeadPatch, source: Source) -> Lead:
    """Store a person who gave an e-mail address or a phone number: as a new lead, or in the one that has it already.

    A known lead only gets its blanks filled, keys added and its score raised: a stranger who types somebody's address
    must neither overwrite nor read that person's data. Raise Invalid; Unavailable when it changes
    meanwhile.
    """
    found = _normalized(found)
    async with db.transaction():
        now = clock.now()
        origin = conversation_id, bot_id, clock.iso(now), clock.iso(now)
        blank = Lead(ids.new("lead"), None, None, None, None, 0, source, {}, *origin)
        lead = found.applied_to(blank)
        _check_reachable(lead)
        if lead.email is None:
            await _ONE_AT_A_TIME.rows(bot_id=bot_id, phone=lead.phone)
        known = await _known(workspace, lead)
        if known is None:
            place = {"workspace_id": workspace, "bot_id": bot_id, "conversation_id": conversation_id}
            values = {**place, **source.columns(), **_contents(lead), "created_at": now, "updated_at": now}
            if await _INSERT.row(id=lead.id, **values):
                await events.changed(workspace, lead).record()
                return lead
            known = await _known(workspace, lead)  # captured by another transaction a moment ago
            if known is None:  # and it is not there any more
                raise Unavailable("The lead changed meanwhile.", headers={"Retry-After": "1"})
        return await _enrich(workspace, known, lead)


async def delete(workspace: str, lead: Lead) -> None:
    """Delete the row of a lead, which the open transaction has locked; `privacy.changes.erase_lead` does the rest."""
    await _DELETE.rows(workspace=workspace, id=lead.id)
    await events.deleted(workspace, lead).record()


async def delete_batch(workspace: str, most: int) -> int:
    """Delete at most so many leads of a workspace that is deleted. Return how many."""
    return len(await _DELETE_SOME.rows(workspace=workspace, most=most))


async def _known(workspace: str, lead: Lead) -> StoredLead | None:
    """The bot's lead with this e-mail address or else this phone number; its row locked."""
    lead_id = await _KNOWN.value(workspace=workspace, bot_id=lead.bot_id, email=lead.email, phone=lead.phone)
    return await reads.stored(workspace, lead_id, lock=True) if lead_id else None


async def _enrich(workspace: str, known: StoredLead, found: Lead) -> Lead:
    """Fill the blanks of a known lead with what was found."""
    before, present, given = known.lead, schema.custom_fields(known.lead), schema.custom_fields(found)
    filled = {name: getattr(before, name) or getattr(found, name) for name in ("email", "name", "phone", "company")}
    custom = schema.fitting(present, {key: value for key, value in given.items() if key not in present})
    score = max(before.score, found.score)
    after = msgspec.structs.replace(before, **filled, score=score, custom_fields=custom)
    if previous := schema.changed(before, after):
        stored = await _store(workspace, known, after, previous)
        return stored.lead if stored else after
    return after


def _contents(lead: Lead) -> dict[str, Any]:
    custom = msgspec.json.encode(lead.custom_fields).decode()
    return {name: getattr(lead, name) for name in _CONTENTS} | {"custom_fields": custom}


def _normalized(patch: LeadPatch) -> LeadPatch:
    """E-mail and phone in their normal form, an empty text as no value. Raise Invalid."""
    given: dict[str, Any] = {}
    faults: list[FieldError] = []
    forms = (("email", identity.email), ("phone", identity.phone), ("name", str.strip), ("company", str.strip))
    for field, normal in forms:
        text = getattr(patch, field)
        if not isinstance(text, str):
            continue
        try:
            given[field] = normal(text) if text.strip() else None
        except ValueError as error:
            faults.append(FieldError(f"invalid_{field}", str(error), f"/{field}"))
    if faults:
        raise Invalid("1 field is not valid." if len(faults) == 1 else "2 fields are not valid.", errors=tuple(faults))
    return msgspec.structs.replace(patch, **given) if given else patch


def _check_read_only(lead: Lead, unchanged: dict[str, Any]) -> None:
    present = msgspec.to_builtins({name: getattr(lead, name) for name in unchanged})
    # A lead that was read may be sent back, after others have changed it or once more: its time is not looked at.
    differ = [name for name, value in unchanged.items() if name != "updated_at" and value != present[name]]
    if faults := tuple(FieldError("read_only_field", "This cannot be changed.", f"/{name}") for name in differ):
        raise ReadOnlyField("A read-only field has another value.", errors=faults)


def _check_reachable(lead: Lead) -> None:
    new = not isinstance(lead.custom_fields, msgspec.Raw)  # else they are as they were
    if lead.email is None and lead.phone is None:
        fault = FieldError("unreachable", "A lead needs an e-mail address or a phone number.", "/email")
    elif new and len(lead.custom_fields) > schema.MAX_CUSTOM_FIELDS:
        fault = FieldError("too_many", f"At most {schema.MAX_CUSTOM_FIELDS} custom fields.", "/custom_fields")
    elif new and schema.too_large(lead.custom_fields):
        fault = FieldError(
            "too_large", f"At most {schema.MAX_CUSTOM_BYTES} bytes as JSON, names included.", "/custom_fields"
        )
    else:
        return
    raise Invalid("1 field is not valid.", errors=(fault,))
