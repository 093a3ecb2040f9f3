"""What exports have in common: rows of tables without secrets and without what is only ours; and CSV."""

import csv
import io
import re
from collections.abc import AsyncIterator, Iterable, Sequence
from datetime import datetime
from typing import Any, Final

import msgspec
from piccolo.table import Table

from leadwire.infrastructure import clock, db
from leadwire.infrastructure.db import declared
from leadwire.infrastructure.db.declared import declaration
from leadwire.infrastructure.db.statements import Statement, sql

BOM: Final = "\N{BYTE ORDER MARK}"  # spreadsheets take the file for UTF-8 by this alone
# What begins with one of these is run as a formula (OWASP, CSV injection), the full-width ones in some locales. A
# spreadsheet whose locale separates cells by something else than a comma begins a new cell inside of ours. It takes all
# blanks that follow, whatever comes then: a cell of many empty lines is read once, not once for each.
_BEGINNING: Final = re.compile(r"((?:[;|\t\r\n]|^)[\s\"]*+)([=+\-@＝＋－＠])?")  # noqa: RUF001
_SEPARATOR: Final = re.compile(r"\A(?![;|\t\r\n])|(?<=[;|\t\r\n])")


class Part:
    """Rows that belong to rows of another table, and are shown there as a list."""

    def __init__(self, table: type[Table]) -> None:
        said = declaration(table)
        self.name, self.table, self.key = said.part, table, declared.belongs_by(said)
        where = f"{self.key} = ANY(:ids::text[]) AND {self.key} BETWEEN :first AND :last"
        self.statement = select(table, where, said.order)


def parts(tables: Iterable[type[Table]], of: str) -> tuple[Part, ...]:
    """What belongs to rows of a table and is shown with them."""
    return tuple(Part(table) for table in tables if (said := declaration(table)).part and said.of == of)


def select(table: type[Table], where: str, order: str, but: str = "") -> Statement:
    """Rows of a table, with the columns that are shown; without the column `but`."""
    left_out = {but, *hidden(table)}
    names = [(column._meta.name, column._meta.db_column_name) for column in table._meta.columns]
    columns = ", ".join(
        stored if name == stored else f"{stored} AS {name}" for name, stored in names if name not in left_out
    )
    return sql(f"SELECT {columns} FROM {table._meta.tablename} WHERE {where} ORDER BY {order}")


def hidden(table: type[Table]) -> set[str]:
    """The columns that are never shown: secrets, what is only ours, and the workspace, the same in every line."""
    secret = {column._meta.name for column in table._meta.columns if column.value_type is bytes}
    return {"workspace_id", *declaration(table).hidden.split(), *secret}


async def with_parts(rows: Sequence[db.Row], parts: Sequence[Part]) -> list[dict[str, Any]]:
    """Return rows as they are shown, each with its parts."""
    if not (rows and parts):
        return [shown(row) for row in rows]
    by_id = {row["id"]: shown(row) | {part.name: [] for part in parts} for row in rows}
    for part in parts:
        for row in await part.statement.rows(ids=list(by_id), first=min(by_id), last=max(by_id)):
            one = shown(row)
            by_id[one.pop(part.key)][part.name].append(one)
    return list(by_id.values())


def shown(row: db.Row) -> dict[str, Any]:
    """A row by its columns, times as text; the body of an event is JSON, null once it is erased."""
    found = {name: clock.iso(value) if isinstance(value, datetime) else value for name, value in row.items()}
    if "body" in found:
        found["body"] = msgspec.Raw(found["body"].encode()) if found["body"] else None
    return found


async def table(rows: list[tuple[object, ...]]) -> AsyncIterator[bytes]:
    """Any rows as a CSV file in UTF-8, the first one with the names of the columns."""
    yield written(rows, start=BOM)


def written(rows: list[tuple[object, ...]], start: str = "") -> bytes:
    """Return rows as CSV. Texts that a spreadsheet would run begin with `'`."""
    text = io.StringIO(start)
    text.seek(0, io.SEEK_END)
    csv.writer(text).writerows([_harmless(cell) for cell in row] for row in rows)
    return text.getvalue().encode()


def _harmless(cell: object) -> object:
    if not isinstance(cell, str):
        return cell
    harmless = _BEGINNING.sub(lambda found: _SEPARATOR.sub("'", found[1]) + found[2] if found[2] else found[0], cell)
    return f"'{harmless}" if harmless.startswith(("\t", "\r", "\n")) else harmless
