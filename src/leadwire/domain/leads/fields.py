"""One custom field of a lead as a form has it: a text. Pure."""

import msgspec

from leadwire.domain.leads.schema import FieldKey, FieldValue, LeadPatch
from leadwire.infrastructure.errors import FieldError, Invalid


def as_text(value: FieldValue | None) -> str:
    """A custom field's value as a form has it."""
    if value is None:
        return ""
    return value.replace("\r\n", "\n").strip() if isinstance(value, str) else msgspec.json.encode(value).decode()


def patch(field: str, value: str | None, present: FieldValue | None = None) -> LeadPatch:
    """A number stays a number, and a yes or no stays one, if it still reads like it. Raise Invalid."""
    typed: FieldValue | None = value
    if value is not None and isinstance(present, bool | int | float):
        kind = bool if isinstance(present, bool) else int | float
        try:
            typed = msgspec.json.decode(value, type=kind)
        except msgspec.DecodeError:
            typed = value
    try:
        msgspec.convert(field, FieldKey)
        return msgspec.convert({"custom_fields": {field: typed}}, LeadPatch)
    except msgspec.ValidationError as error:
        fault = FieldError("invalid_field", "A name of 1 to 64 characters, a value of up to 1,000.", "/value")
        raise Invalid("This custom field cannot be set.", errors=(fault,)) from error
