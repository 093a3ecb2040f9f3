"""Everything of a workspace as NDJSON: a JSON document a line, `{"kind": ..., "data": {...}}`.

Kinds come one after the other, and rows in the order of their key. A page of rows is all that is in memory. Which
tables have lines, and which columns are left out, each table declares.
"""

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

import msgspec
from piccolo.table import Table

from leadwire.domain.accounts.audit import changes as audit
from leadwire.domain.listing.rows import Part, parts, select, with_parts
from leadwire.infrastructure import clock, db
from leadwire.infrastructure.db import declared
from leadwire.infrastructure.db.declared import declaration, derived
from leadwire.infrastructure.db.statements import Statement
from leadwire.infrastructure.errors import OperatorError

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
    listed = [_kind(table, tables) for table in tables if declaration(table).line]
    order = {name: index for index, name in enumerate(_ORDER)}
    return sorted(listed, key=lambda kind: order.get(kind.name, len(order)))


def _kind(table: type[Table], tables: Sequence[type[Table]]) -> _Kind:
    said = declaration(table)
    key = said.key.split()
    places = ", ".join(f":after_{column}::{_type(table, column)}" for column in key)
    where = f"{declared.of_workspace(table)} AND ({', '.join(key)}) > ({places})"
    page = select(table, where, f"{', '.join(key)} LIMIT :most")
    return _Kind(said.line, table, key, page, parts(tables, declared.name(table)))


async def write(workspace: str, path: Path) -> None:
    """Write an export to a new file. That one began is in the workspace's audit log.

    Raise OperatorError when the file is there already, or cannot be written.
    """
    with _writing(path):
        file = _new(path)
    with file:
        async with db.transaction():
            await audit.record(workspace, "operator", audit.Entry("workspace.exported", workspace))
        async for some in lines(workspace):
            with _writing(path):
                file.write(some)
                file.flush()


async def lines(workspace: str) -> AsyncIterator[bytes]:
    """Yield the lines, some at a time."""
    for kind in kinds():
        after = {column: _FIRST[_type(kind.table, column)] for column in kind.key}
        while rows := await kind.page.rows(
            workspace=workspace, most=_PAGE, **{f"after_{name}": value for name, value in after.items()}
        ):
            yield b"".join(_line(kind.name, data) for data in await with_parts(rows, kind.parts))
            after = {column: rows[-1][column] for column in kind.key}
    yield _line(END, {"at": clock.iso(clock.now())})


def _new(path: Path) -> IO[bytes]:
    path.touch(mode=0o600, exist_ok=False)
    return path.open("wb")


def _line(kind: str, data: dict[str, Any]) -> bytes:
    return msgspec.json.encode({"kind": kind, "data": data}) + b"\n"


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OperatorError(f"{path} cannot be written: {error.strerror}") from error


def _type(table: type[Table], name: str) -> str:
    return _TYPES[type(table._meta.get_column_by_name(name)).__name__]
