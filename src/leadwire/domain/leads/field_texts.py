"""Custom fields of a lead as forms have them: texts. Pure."""

import msgspec

from leadwire.domain.leads.schema import FieldKey, FieldValue, LeadPatch
from leadwire.infrastructure.errors import FieldError, Invalid


def as_text(value: FieldValue | None) -> str:
    """A custom field's value as a form has it: a browser sends every end of a line in one way."""
    if value is None:
        return ""
    if not isinstance(value, str):
        return msgspec.json.encode(value).decode()
    return value.replace("\r\n", "\n").replace("\r", "\n").strip()


def typed(text: str, present: FieldValue | None) -> FieldValue:
    """A number stays a number, and a yes or no stays one, if it still reads like it; anything else is text."""
    if not isinstance(present, bool | int | float):
        return text
    kind = bool if isinstance(present, bool) else int | float
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.DecodeError:
        return text


def patch(field: str, value: str | None, present: FieldValue | None = None) -> LeadPatch:
    """Set a field, or with None remove it. Raise Invalid."""
    new = None if value is None else typed(value, present)
    try:
        msgspec.convert(field, FieldKey)
        return msgspec.convert({"custom_fields": {field: new}}, LeadPatch)
    except msgspec.ValidationError as error:
        fault = FieldError("invalid_field", "A name of 1 to 64 characters, a value of up to 1,000.", "/value")
        raise Invalid("This custom field cannot be set.", errors=(fault,)) from error
