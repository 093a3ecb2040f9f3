"""A lead's form: the texts in it, and the merge patch that is made of what was sent. Pure."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from leadwire.domain.leads import field_texts
from leadwire.domain.leads.schema import LENGTHS, TEXTS, FieldValue, Lead, LeadPatch, custom_fields
from leadwire.interfaces.http import body
from leadwire.interfaces.web.forms import Form, wrong

_LABELS: Final = {"email": "E-mail"}
_KINDS: Final[Mapping[str, Mapping[str, str]]] = {"email": {"inputmode": "email"}, "phone": {"type": "tel"}}
TEXT_FIELDS: Final = [
    (name, _LABELS.get(name, name.replace("_", " ").capitalize()), {"maxlength": longest, **_KINDS.get(name, {})})
    for name, longest in LENGTHS.items()
]
"""Each text of a lead: its name, what people call it, the attributes of its field."""


class FormValues(msgspec.Struct, frozen=True):
    """The texts in a form: the plain fields, and the custom ones in their order."""

    plain: dict[str, str]
    custom: list[tuple[str, str]]


def values_of(lead: Lead) -> FormValues:
    """Return a lead as texts."""
    plain = {name: getattr(lead, name) or "" for name in TEXTS} | {"score": str(lead.score)}
    return FormValues(plain, [(key, field_texts.as_text(value)) for key, value in custom_fields(lead).items()])


def draft(form: Form, lead: Lead) -> FormValues | None:
    """Return what was typed into the form, to show it again; None for another form."""
    if not form.text("version"):
        return None
    plain = values_of(lead).plain
    return FormValues(plain | {name: form.text(name) for name in plain if form.has(name)}, _pairs(form, lead))


def patch(form: Form, lead: Lead) -> LeadPatch:
    """What differs from `lead`. An emptied field is cleared, an emptied custom field removed. What the form does not
    have stays. Raises Invalid.
    """
    texts = _texts(form, lead)
    if form.has("score") and form.number("score") != lead.score:
        texts["score"] = form.number("score")
    was = custom_fields(lead)
    pairs = [(key, value) for key, value in _pairs(form, lead) if key or value]
    names = [key for key, _ in pairs]
    if len(set(names)) < len(names) or "" in names:
        raise wrong("custom_fields", "repeated_field", "Every custom field needs a name of its own.")
    custom: dict[str, FieldValue | None] = {
        key: field_texts.typed(value, was.get(key)) if value else None
        for key, value in pairs
        if value != field_texts.as_text(was.get(key))
    }
    if custom:
        texts["custom_fields"] = custom
    return body.fields(texts, LeadPatch)


def contact(form: Form, lead: Lead) -> LeadPatch:
    """What differs from `lead` in how to reach them. Raises Invalid."""
    return body.fields(_texts(form, lead), LeadPatch)


def _texts(form: Form, lead: Lead) -> dict[str, Any]:
    return {
        name: form.text(name) or None
        for name in TEXTS
        if form.has(name) and form.text(name) != (getattr(lead, name) or "")
    }


def _pairs(form: Form, lead: Lead) -> list[tuple[str, str]]:
    names = custom_fields(lead)  # that may have blanks at their ends: without, they are others
    keys = [key if key in names else key.strip() for key in form.all("key")]
    return [(key, value.replace("\r\n", "\n").strip()) for key, value in zip(keys, form.all("value"), strict=False)]
