"""A lead's form: the texts in it, and the merge patch that is made of what was typed. Pure.

The form carries digests of what it showed. So it changes what its sender has changed, and nothing that a colleague has
changed meanwhile.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from leadwire.domain.leads import field_texts
from leadwire.domain.leads.schema import LENGTHS, TEXTS, Lead, LeadPatch, custom_fields
from leadwire.infrastructure.errors import PreconditionFailed
from leadwire.infrastructure.preconditions import digest
from leadwire.interfaces.http import body
from leadwire.interfaces.web.forms import Form, wrong

_LABELS: Final = {"email": "E-mail"}
_KINDS: Final[Mapping[str, Mapping[str, str]]] = {"email": {"inputmode": "email"}, "phone": {"type": "tel"}}
TEXT_FIELDS: Final = [
    (name, _LABELS.get(name, name.replace("_", " ").capitalize()), {"maxlength": longest, **_KINDS.get(name, {})})
    for name, longest in LENGTHS.items()
]
"""Each text of a lead: its name, what people call it, the attributes of its field."""
_OVERTAKEN: Final = (
    "Somebody else changed the same field while you were typing. Your values are still in the form, the present ones"
    " beside them: save again to put yours in their place."
)
_NOTHING: Final = digest("")


def texts_of(lead: Lead) -> dict[str, str]:
    """Return each field of a lead as a text; the name of a custom one begins with a slash."""
    plain = {name: (getattr(lead, name) or "").strip() for name in TEXTS} | {"score": str(lead.score)}
    return plain | {f"/{key}": field_texts.as_text(value) for key, value in custom_fields(lead).items()}


def seen(lead: Lead) -> str:
    """Return the digests of what a form shows, which it carries."""
    return msgspec.json.encode({name: digest(text) for name, text in texts_of(lead).items()}).decode()


def draft(form: Form, lead: Lead) -> dict[str, str] | None:
    """Return a lead with what was typed into the form, to show it again; None for another form."""
    return texts_of(lead) | _typed(form, lead) if form.has("seen") else None


def patch(form: Form, lead: Lead) -> LeadPatch:
    """What was typed and is not there yet. An emptied field is cleared, an emptied custom field removed. Raises
    Invalid; PreconditionFailed where somebody else has changed the same field.
    """
    now, saw = texts_of(lead), _saw(form)
    typed = {name: text for name, text in _typed(form, lead).items() if text != now.get(name, "")}
    if any(digest(now.get(name, "")) != saw.get(name, _NOTHING) for name in typed):
        raise PreconditionFailed(_OVERTAKEN)
    names = [key for key, value in _pairs(form, lead) if key or value]
    if len(set(names)) < len(names) or "" in names:
        raise wrong("custom_fields", "repeated_field", "Every custom field needs a name of its own.")
    texts: dict[str, Any] = {name: typed[name] or None for name in TEXTS if name in typed}
    if "score" in typed:
        texts["score"] = form.number("score")
    was = custom_fields(lead)
    custom = {key: text for key in names if (text := typed.get(f"/{key}")) is not None}
    if custom:
        read = field_texts.typed
        texts["custom_fields"] = {key: read(text, was.get(key)) if text else None for key, text in custom.items()}
    return body.fields(texts, LeadPatch)


def _typed(form: Form, lead: Lead) -> dict[str, str]:
    """The fields that are others than the form has shown."""
    sent = {name: form.text(name) for name in (*TEXTS, "score") if form.has(name)}
    sent |= {f"/{key}": value for key, value in _pairs(form, lead)}
    saw = _saw(form)
    return {name: text for name, text in sent.items() if digest(text) != saw.get(name, _NOTHING)}


def _saw(form: Form) -> dict[str, str]:
    try:
        return msgspec.json.decode(form.text("seen"), type=dict[str, str])
    except msgspec.DecodeError:  # it has shown nothing that we know of
        return {}


def _pairs(form: Form, lead: Lead) -> list[tuple[str, str]]:
    names = custom_fields(lead)  # that may have blanks at their ends: without, they are others
    keys = [key if key in names else key.strip() for key in form.all("key")]
    return [(key, value.replace("\r\n", "\n").strip()) for key, value in zip(keys, form.all("value"), strict=False)]
