"""How a change is identified in its event, in its POSTs and in the row it changed."""

from collections.abc import Mapping
from typing import Final, NamedTuple

import msgspec

FIELD: Final = "chaos"
"""The custom field of a lead that each change sets to its number. An ended conversation is known by its id."""


class EventKey(NamedTuple):
    """The kind, the subject and the number of the change that an event reports."""

    kind: str
    subject: str
    number: int | None


class _Data(msgspec.Struct):
    id: str
    custom_fields: dict[str, msgspec.Raw] = {}


class _Envelope(msgspec.Struct):
    event: str
    data: _Data


_decode = msgspec.json.Decoder(_Envelope).decode


def read(body: bytes | str) -> EventKey:
    """Return the event in a payload. Raise msgspec.ValidationError or DecodeError if there is none."""
    envelope = _decode(body)
    number = number_in(envelope.data.custom_fields) if envelope.event == "lead.updated" else None
    return EventKey(envelope.event, envelope.data.id, number)


def number_in(custom_fields: Mapping[str, msgspec.Raw]) -> int | None:
    """Return the number of the last change to a lead, or None before the first."""
    return int(bytes(custom_fields[FIELD])) if FIELD in custom_fields else None
