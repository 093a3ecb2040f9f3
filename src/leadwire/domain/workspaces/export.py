"""Everything of a workspace as NDJSON: a JSON document a line, `{"kind": ..., "data": {...}}`.

Kinds come one after the other, and rows in the order of their key, so the last line says where to go on. A page of rows
is all that is in memory. Which tables have lines, and which columns are left out, each table declares.
"""

from collections.abc import AsyncIterator, Sequence
from typing import Any, Final, NamedTuple

import msgspec
from piccolo.columns import Column, Timestamptz
from piccolo.table import Table

from leadwire.domain.listing.exported import Part, parts, select, with_parts
from leadwire.infrastructure import clock
from leadwire.infrastructure.db import declared
from leadwire.infrastructure.db.declared import declaration, derived
from leadwire.infrastructure.db.statements import Statement
from leadwire.infrastructure.errors import Invalid

END: Final = "end"
"""The kind of the last line: a file without it is not complete."""
_PAGE: Final = 50  # rows, each with its children
# What is there in files of versions before, in their order; other kinds follow.
_ORDER: Final = (
    "workspace", "user", "notice_choice", "notice_address", "invitation", "identity_provider", "email_domain",
    "user_identity", "api_key", "audit_entry", "bot", "bot_version", "faq_entry", "saved_reply", "blocked_visitor",
    "endpoint", "redrive", "retention", "lead_view", "bulk_change", "lead", "conversation", "consent", "event",
)  # fmt: skip
_TYPES: Final = {"Text": "text", "Timestamptz": "timestamptz", "Integer": "int"}
_FIRST: Final = {"text": "", "timestamptz": clock.parse("1970-01-01"), "int": -1}


class _Kind(NamedTuple):
    """A kind of line: its rows are read by `key`, behind which there is an index."""

    name: str
    table: type[Table]
    key: list[str]
    page: Statement
    """Some rows after a place."""
    parts: tuple[Part, ...]


@derived
def kinds(tables: Sequence[type[Table]]) -> list[_Kind]:
    """Every kind of line, in the order of the file."""
    made = [_kind(table, tables) for table in tables if declaration(table).line]
    known = {name: place for place, name in enumerate(_ORDER)}
    return sorted(made, key=lambda kind: known.get(kind.name, len(known)))


def _kind(table: type[Table], tables: Sequence[type[Table]]) -> _Kind:
    said = declaration(table)
    key = said.key.split()
    places = ", ".join(f":after_{column}::{_type(table, column)}" for column in key)
    where = f"{declared.of_workspace(table)} AND ({', '.join(key)}) > ({places})"
    page = select(table, where, f"{', '.join(key)} LIMIT :most")
    return _Kind(said.line, table, key, page, parts(tables, declared.name(table)))


async def lines(workspace: str, last: bytes = b"") -> AsyncIterator[bytes]:
    """Yield the lines after `last`, some at a time; from the beginning when it is empty. Raise Invalid."""
    begun, place = place_after(last)
    for kind in kinds()[begun:]:
        values = {column: _FIRST[_type(kind.table, column)] for column in kind.key} | place
        place = {}
        while rows := await kind.page.rows(
            workspace=workspace, most=_PAGE, **{f"after_{name}": value for name, value in values.items()}
        ):
            yield b"".join(line(kind.name, data) for data in await with_parts(rows, kind.parts))
            values = {column: rows[-1][column] for column in kind.key}
    yield line(END, {"at": clock.iso(clock.now())})


def place_after(last: bytes) -> tuple[int, dict[str, Any]]:
    """With which kind to go on after a line, and after which row of it. Raise Invalid when it is none."""
    if not last:
        return 0, {}
    wrong = Invalid("This is no line of an export. Choose another file.")
    try:
        line = msgspec.json.decode(last, type=dict[str, Any])
        begun, kind = next((place, kind) for place, kind in enumerate(kinds()) if kind.name == line["kind"])
        return begun, {column: _value(kind.table, column, line["data"][column]) for column in kind.key}
    except (msgspec.MsgspecError, KeyError, StopIteration, TypeError, ValueError) as error:
        raise wrong from error


def line(kind: str, data: dict[str, Any]) -> bytes:
    return msgspec.json.encode({"kind": kind, "data": data}) + b"\n"


def _column(table: type[Table], name: str) -> Column:
    return table._meta.get_column_by_name(name)


def _type(table: type[Table], name: str) -> str:
    return _TYPES[type(_column(table, name)).__name__]


def _value(table: type[Table], name: str, text: Any) -> Any:
    """A value of a key, as it was in a line. Raise ValueError, TypeError."""
    if isinstance(_column(table, name), Timestamptz):
        return clock.parse(text)
    if type(text) is not type(_FIRST[_type(table, name)]):
        raise TypeError(name)
    return text
