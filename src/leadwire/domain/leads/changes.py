"""Every change of a lead: one function, one transaction, its events beside it."""

from contextlib import suppress
from typing import Any, Final

import msgspec

from leadwire.domain.leads import events, identity, reads, table
from leadwire.domain.leads.schema import (
    MAX_CUSTOM_BYTES,
    MAX_CUSTOM_FIELDS,
    Lead,
    LeadPatch,
    Source,
    StoredLead,
    changed,
    custom_fields,
    fitting,
    too_large,
)
from leadwire.infrastructure import clock, db, ids
from leadwire.infrastructure.db.statements import param, statement
from leadwire.infrastructure.errors import Conflict, FieldError, Invalid, PreconditionFailed, ReadOnlyField, Unavailable

_UPDATE: Final = """
UPDATE lead SET email = $4, name = $5, phone = $6, company = $7, score = $8, custom_fields = $9,
    version = version + 1, updated_at = $10
WHERE workspace_id = $1 AND id = $2 AND version = $3"""

_INSERT: Final = """
INSERT INTO lead (id, workspace_id, bot_id, conversation_id, email, name, phone, company, score,
    source_url, source_campaign, source_referrer, custom_fields, created_at, updated_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $14)
ON CONFLICT DO NOTHING RETURNING id"""

_DELETE: Final = statement(
    table.Lead.delete().where(table.Lead.workspace_id == param("workspace"), table.Lead.id == param("id"))
)


class LeadConflict(Conflict):
    """Another lead of the bot has the e-mail address: see `conflicting_id`."""

    code = "lead_conflict"

    def __init__(self, holder: str | None = None) -> None:
        extra = {"conflicting_id": holder} if holder else {}
        super().__init__("Another lead of this bot has that e-mail address.", extra=extra)


class _Overtaken(Exception):
    """Another change of the same lead came between reading and writing."""


async def update(
    workspace: str, lead_id: str, patch: LeadPatch, *, unchanged: dict[str, Any], if_match: frozenset[int] | None = None
) -> StoredLead:
    """Apply a merge patch; one that changes nothing writes nothing and tells nobody.

    `unchanged` holds read-only members that must have their present value. Two statements, the second one a
    compare-and-set on the row's version together with its event; when it is overtaken, again under the row lock.
    Raise NotFound, Invalid, ReadOnlyField, LeadConflict, PreconditionFailed.
    """
    patch = _normalized(patch)
    try:
        with suppress(_Overtaken):
            lock = db.in_transaction()  # whose answer is stored and shows the lead: no erasure may come between
            return await _update(workspace, lead_id, patch, unchanged, if_match, lock=lock)
        async with db.transaction():
            return await _update(workspace, lead_id, patch, unchanged, if_match, lock=True)
    except db.UniqueViolation as error:  # somebody took the address between our look and our write
        raise LeadConflict from error


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
    _refuse_read_only(before.lead, unchanged)
    after = patch.applied_to(before.lead)
    _refuse_unreachable(after)
    previous = changed(before.lead, after)
    if not previous:
        return before
    if "email" in previous and after.email:
        holder = await reads.holder_of_email(workspace, lead_id, after.email)
        if holder not in (None, lead_id):
            raise LeadConflict(holder)
    if not await events.updated(workspace, after, previous).record_with(
        _UPDATE, workspace, lead_id, before.version, *_contents(after), clock.now()
    ):
        raise _Overtaken
    return StoredLead(after, before.version + 1)


async def capture(workspace: str, bot_id: str, conversation_id: str, found: LeadPatch, source: Source) -> Lead:
    """Take down a person who gave an e-mail address or a phone number: a new lead, or the one we know.

    A known one only gets its blanks filled, keys added and its score raised: a stranger typing somebody's
    address must neither overwrite nor read that person. Raises Invalid; Unavailable when it changes under our hands.
    """
    found = _normalized(found)
    async with db.transaction():
        now = clock.now()
        blank = Lead(ids.new("lead"), None, None, None, None, 0, source, {}, conversation_id, bot_id, clock.iso(now))
        lead = found.applied_to(blank)
        _refuse_unreachable(lead)
        known = await _known(workspace, lead)
        if known is None:
            email, name, phone, company, score, fields = _contents(lead)
            made = await db.rows(
                _INSERT, lead.id, workspace, bot_id, conversation_id, email, name, phone, company, score,
                source.url, source.campaign, source.referrer, fields, now,
            )  # fmt: skip
            if made:
                await events.created(workspace, lead).record()
                return lead
            known = await _known(workspace, lead)  # captured by somebody else a moment ago
            if known is None:  # and erased since
                raise Unavailable("The lead changed meanwhile.", headers={"Retry-After": "1"})
        return await _enrich(workspace, known, lead)


async def delete(workspace: str, lead: Lead) -> None:
    """Delete the row of a lead, which the open transaction has locked; `privacy.changes.erase_lead` does the rest."""
    await _DELETE.rows(workspace=workspace, id=lead.id)
    await events.deleted(workspace, lead).record()


async def _known(workspace: str, lead: Lead) -> StoredLead | None:
    """The lead with this e-mail address, else this phone number, at the same bot; its row locked."""
    lead_id = await db.value(
        """SELECT id FROM lead WHERE workspace_id = $1 AND bot_id = $2
             AND (lower(email) = lower($3) OR ($3::text IS NULL AND phone = $4))
           ORDER BY created_at LIMIT 1""",
        workspace, lead.bot_id, lead.email, lead.phone,
    )  # fmt: skip
    return await reads.stored(workspace, lead_id, lock=True) if lead_id else None


async def _enrich(workspace: str, known: StoredLead, found: Lead) -> Lead:
    """Fill the blanks of a lead we know with what was found."""
    before, present, told = known.lead, custom_fields(known.lead), custom_fields(found)
    after = msgspec.structs.replace(
        before,
        email=before.email or found.email,
        name=before.name or found.name,
        phone=before.phone or found.phone,
        company=before.company or found.company,
        score=max(before.score, found.score),
        custom_fields=fitting(present, {key: custom for key, custom in told.items() if key not in present}),
    )
    if previous := changed(before, after):
        await events.updated(workspace, after, previous).record_with(
            _UPDATE, workspace, before.id, known.version, *_contents(after), clock.now()
        )
    return after


def _contents(lead: Lead) -> tuple[Any, ...]:
    texts = lead.email, lead.name, lead.phone, lead.company
    return *texts, lead.score, msgspec.json.encode(lead.custom_fields).decode()


def _normalized(patch: LeadPatch) -> LeadPatch:
    """E-mail and phone in their normal form, an empty text as no value. Raises Invalid."""
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
        raise Invalid("1 field is not valid." if len(faults) == 1 else "2 fields are not valid.", faults=tuple(faults))
    return msgspec.structs.replace(patch, **given) if given else patch


def _refuse_read_only(lead: Lead, unchanged: dict[str, Any]) -> None:
    present = msgspec.to_builtins({name: getattr(lead, name) for name in unchanged})
    if faults := [
        FieldError("read_only_field", "This cannot be changed.", f"/{name}")
        for name, value in unchanged.items()
        if value != present[name]
    ]:
        raise ReadOnlyField("A read-only field has another value.", faults=tuple(faults))


def _refuse_unreachable(lead: Lead) -> None:
    new = not isinstance(lead.custom_fields, msgspec.Raw)  # else they are as they were
    if lead.email is None and lead.phone is None:
        fault = FieldError("unreachable", "A lead needs an e-mail address or a phone number.", "/email")
    elif new and len(lead.custom_fields) > MAX_CUSTOM_FIELDS:
        fault = FieldError("too_many", f"At most {MAX_CUSTOM_FIELDS} custom fields.", "/custom_fields")
    elif new and too_large(lead.custom_fields):
        fault = FieldError("too_large", f"At most {MAX_CUSTOM_BYTES} bytes as JSON, names included.", "/custom_fields")
    else:
        return
    raise Invalid("1 field is not valid.", faults=(fault,))
