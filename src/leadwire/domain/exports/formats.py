"""Rows of an export of `/v1` as text: NDJSON or CSV."""

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Final

import msgspec
from msgspec import Struct

from leadwire.domain.exports.schema import Format, Kind
from leadwire.domain.leads.schema import PATHS
from leadwire.domain.listing.spreadsheets import written

_COLUMNS: Final[Mapping[Kind, str]] = {
    "leads": " ".join(PATHS),
    "conversations": "id bot_id status visitor.email visitor.name messages_count created_at updated_at",
    "messages": "id conversation_id bot_id role content created_at seq conversation_created_at",
    "events": "id event timestamp data",
}
_CELLS: Final = {kind: attrgetter(*names.split()) for kind, names in _COLUMNS.items()}
_encode_lines = msgspec.json.Encoder().encode_lines


def _ndjson(_: Kind, rows: Sequence[Struct], *, head: bool) -> bytes:  # noqa: ARG001 - as CSV
    return _encode_lines(rows)


def _csv(kind: Kind, rows: Sequence[Struct], *, head: bool) -> bytes:
    """RFC 4180; objects are JSON. `head`: begin with the names of the columns."""
    cells = _CELLS[kind]
    lines = [tuple(map(_cell, cells(row))) for row in rows]
    names = [tuple(_COLUMNS[kind].replace(".", "_").split())] if head else []
    return written([*names, *lines])


def _cell(value: object) -> object:
    return msgspec.json.encode(value).decode() if isinstance(value, msgspec.Raw | dict) else value


FORMATS: Final[Mapping[Format, tuple[str, Callable[..., bytes]]]] = {
    "ndjson": ("application/x-ndjson", _ndjson),
    "csv": ("text/csv; charset=utf-8", _csv),
}
"""The media type of each format, and what writes rows of a kind in it."""
