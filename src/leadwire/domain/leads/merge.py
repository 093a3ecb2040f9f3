"""What becomes of a lead: changed by a patch, or by what a visitor says of themselves. Pure."""

from typing import Any, Final

from msgspec import Raw, structs

from leadwire.domain.leads import identity, schema
from leadwire.domain.leads.schema import Lead, LeadPatch
from leadwire.infrastructure.errors import FieldError, Invalid

_FORMS: Final = {"email": identity.email, "phone": identity.phone}
"""What makes the normal form of each text by which a person is recognized; of the others, the ends are cut off."""


def normalized(patch: LeadPatch) -> LeadPatch:
    """E-mail and phone in their normal form, an empty text as no value. Raise Invalid."""
    changes: dict[str, Any] = {}
    faults: list[FieldError] = []
    for field in schema.TEXTS:
        text = getattr(patch, field)
        if not isinstance(text, str):
            continue
        try:
            changes[field] = _FORMS.get(field, str.strip)(text) if text.strip() else None
        except ValueError as error:
            faults.append(FieldError(f"invalid_{field}", str(error), f"/{field}"))
    if faults:
        raise Invalid(
            "1 field is not valid." if len(faults) == 1 else f"{len(faults)} fields are not valid.",
            errors=tuple(faults),
        )
    return structs.replace(patch, **changes) if changes else patch


def address(contact: LeadPatch) -> tuple[str | None, str | None]:
    """The e-mail address and the phone number by which somebody is recognized. Raise Invalid."""
    email, phone = (getattr(normalized(LeadPatch(email=contact.email, phone=contact.phone)), name) for name in _FORMS)
    return email or None, phone or None


def patched(lead: Lead, patch: LeadPatch) -> Lead:
    """The lead as a normalized patch leaves it. Raise Invalid when nobody could be reached, or it is too large."""
    after = patch.applied_to(lead)
    new = not isinstance(after.custom_fields, Raw)  # else they are as they were
    if after.email is None and after.phone is None:
        fault = FieldError("unreachable", "A lead needs an e-mail address or a phone number.", "/email")
    elif new and len(after.custom_fields) > schema.MAX_CUSTOM_FIELDS:
        fault = FieldError("too_many", f"At most {schema.MAX_CUSTOM_FIELDS} custom fields.", "/custom_fields")
    elif new and schema.too_large(after.custom_fields):
        fault = FieldError(
            "too_large", f"At most {schema.MAX_CUSTOM_BYTES} bytes as JSON, names included.", "/custom_fields"
        )
    else:
        return after
    raise Invalid("1 field is not valid.", errors=(fault,))


def enriched(lead: Lead, new: Lead) -> Lead:
    """A known lead with its blanks filled, keys added and its score raised: a stranger who types somebody's address
    must neither overwrite nor read that person's data.
    """
    present, fields = schema.custom_fields(lead), schema.custom_fields(new)
    filled = {name: getattr(lead, name) or getattr(new, name) for name in schema.TEXTS}
    custom = schema.fitting(present, {key: value for key, value in fields.items() if key not in present})
    return structs.replace(lead, **filled, score=max(lead.score, new.score), custom_fields=custom)
