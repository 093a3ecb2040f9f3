"""Rows of tables as exports have them: without secrets, and without what is only ours."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import msgspec
from piccolo.table import Table

from leadwire.infrastructure import clock, db
from leadwire.infrastructure.db import declared
from leadwire.infrastructure.db.declared import declaration
from leadwire.infrastructure.db.statements import Statement, sql


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
            values = shown(row)
            by_id[values.pop(part.key)][part.name].append(values)
    return list(by_id.values())


def shown(row: db.Row) -> dict[str, Any]:
    """A row by its columns, times as text; the body of an event is JSON, null once it is erased."""
    values = {name: clock.iso(value) if isinstance(value, datetime) else value for name, value in row.items()}
    if "body" in values:
        values["body"] = msgspec.Raw(values["body"].encode()) if values["body"] else None
    return values
