"""By what a change is known in its event, in its POSTs and in the row it changed."""

from collections.abc import Mapping
from typing import Final, NamedTuple

import msgspec

FIELD: Final = "chaos"
"""The custom field of a lead that each change sets to its number. An ended conversation is known by its id."""


class Told(NamedTuple):
    """What an event tells of."""

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


def read(body: bytes | str) -> Told:
    """The event in a payload. Raises msgspec.ValidationError or DecodeError for what is none."""
    envelope = _decode(body)
    number = number_in(envelope.data.custom_fields) if envelope.event == "lead.updated" else None
    return Told(envelope.event, envelope.data.id, number)


def number_in(custom_fields: Mapping[str, msgspec.Raw]) -> int | None:
    """The number of the change that a lead shows, None before the first."""
    return int(bytes(custom_fields[FIELD])) if FIELD in custom_fields else None
