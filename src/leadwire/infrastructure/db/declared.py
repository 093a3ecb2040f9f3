"""What is said of a table once, beside its columns: whose rows they are, what of them is shown, how they are copied,
and how they go.

    class SavedReply(Table, db=DB, tablename="saved_reply"):
        declared = Declared(line="saved_reply")
The export of a workspace, its import, move and deletion, erasure, a person's copy, retention and the emptying between
tests are made of this. A table is found wherever its class is, and one without a declaration is refused.
"""

import functools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeVar

from msgspec import Struct
from piccolo.columns import Column
from piccolo.table import Table

from leadwire.infrastructure.db.statements import Statement, columns, sql

T = TypeVar("T")

_TABLE: Final = re.compile(r"^class .*\btablename=", re.MULTILINE)


class Declared(Struct, frozen=True, kw_only=True):
    """What is said of a table. Names of columns are separated by blanks, as in `columns`.

    A condition is SQL about the table's own columns. A mapping has SQL for columns; empty: the database's default.
    """

    # Whose rows they are.
    of: str = "workspace"  # the table whose rows these belong to, and go with; empty: they are the installation's
    by: str = ""  # the column that says to which row; else it is called like that table
    refers: str = ""  # other tables that rows refer to, or to which their triggers write
    view: bool = False  # there are no rows of its own
    # What of them is shown.
    hidden: str = ""  # columns that never are, besides those of bytes and the workspace
    sealed: str = ""  # columns that `secret_box` seals
    # The export of a workspace, and its import.
    line: str = ""  # the kind of its lines; without one there are none
    key: str = "id"  # the columns that lines are ordered by: an index has them
    part: str = ""  # the list of its rows in lines of what they belong to, and in a person's copy
    imported: bool = True
    anew: str = ""  # columns that begin in an import as in a new row
    made: Mapping[str, str] = {}  # columns that an import computes
    # The move to another installation.
    moves: bool = True
    rows: str = ""  # the condition for the rows of the workspace `$1`, where no column tells
    moved: Mapping[str, str] = {}  # columns with another value there
    late: str = ""  # the condition for rows that come last, once nothing changes: what processes act on
    stays: bool = False  # a row that is there already stays as it is
    fenced: bool = True  # its changes are refused meanwhile
    keyed: bool = False  # its rows mean nothing where LEADWIRE_SECRET_KEY is another
    # What becomes of them.
    cascades: bool | None = None  # the database deletes rows with what they belong to; None: all but a workspace's
    person: str = ""  # the condition for rows about a person, by `:lead`, `:conversations` and `:addresses`
    blank: Mapping[str, str] = {}  # what an erasure makes of columns of these rows; without any, they are deleted
    said: bool = False  # they repeat what was said, and go also where that alone is removed
    listed: str = ""  # the list of these rows in a person's copy, if they are no part
    shown: str = ""  # its condition, if it is another
    order: str = ""  # how a list or part is ordered
    by_hand: str = ""  # what a function does instead: deletion, erasure
    ends: str = ""  # the condition for rows that are deleted once an hour, which may name settings: `:retention_days`
    chore: str = ""  # the name of that job, if it is not the table's


def declaration(table: type[Table]) -> Declared:
    """What is said of a table. Raise AttributeError where nothing is."""
    declared: Declared = table.declared  # type: ignore[attr-defined]
    return declared


@functools.cache
def every() -> tuple[type[Table], ...]:
    """Every table, wherever its class is, in this order. No module without one is imported."""
    from piccolo.conf.apps import table_finder  # imports black, which takes each process 0.1 s

    package = Path(__file__).parents[2]
    files = (file for file in sorted(package.rglob("*.py")) if _TABLE.search(file.read_text(encoding="utf-8")))
    modules = [".".join((package.name, *file.relative_to(package).with_suffix("").parts)) for file in files]
    return in_order(table_finder(modules, exclude_imported=True))


def in_order(tables: Iterable[type[Table]]) -> tuple[type[Table], ...]:
    """Those first that others belong or refer to, last what processes act on."""
    by_name, ordered = {name(table): table for table in tables}, dict[str, type[Table]]()

    def add(table: type[Table]) -> None:
        said = declaration(table)
        for other in (said.of, *said.refers.split()):
            if other in by_name and other not in (name(table), *ordered):
                add(by_name[other])
        ordered[name(table)] = table

    for table in by_name.values():
        add(table)
    return tuple(sorted(ordered.values(), key=lambda table: declaration(table).late == "true"))


def derived(make: Callable[[tuple[type[Table], ...]], T]) -> Callable[[], T]:
    """What is made of all tables, once, when it is needed first."""
    made = functools.cache(make)
    return lambda: made(every())


@derived
def sealed(tables: Iterable[type[Table]]) -> dict[str, list[Column]]:
    """The columns that `secret_box` seals, by table."""
    names = {name(table): columns(table, declaration(table).sealed) for table in tables}
    return {table: those for table, those in names.items() if those}


def names() -> list[str]:
    """What the database calls them all."""
    return list(map(name, every()))


def name(table: type[Table]) -> str:
    """What the database calls it."""
    return table._meta.tablename


def has(table: type[Table], column: str) -> bool:
    """Whether there is a column that the database calls so."""
    return any(other._meta.db_column_name == column for other in table._meta.columns)


def of_workspace(table: type[Table]) -> str:
    """The condition for the rows of `:workspace`, by the indexes of what they belong to."""
    said = declaration(table)
    conditions = ["workspace_id = :workspace"] if has(table, "workspace_id") else []
    if said.of == "workspace" and said.by:
        conditions = [f"{said.by} = :workspace"]
    elif said.of != "workspace":
        of = f"SELECT id FROM {said.of} WHERE workspace_id = :workspace"
        conditions.append(f"{belongs_by(said)} = ANY(ARRAY({of}))")
    return " AND ".join(conditions)


def delete_some(table: type[Table]) -> Statement:
    """A DELETE of at most `:most` rows of `:workspace`. It returns a row for each, without columns of use."""
    return sql(f"""
DELETE FROM {name(table)} WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM {name(table)} WHERE {of_workspace(table)} LIMIT :most)) RETURNING 1""")


def alone(table: type[Table]) -> bool:
    """Whether rows of a workspace that is deleted go neither with others nor by a function."""
    said = declaration(table)
    cascades = said.of != "workspace" if said.cascades is None else said.cascades
    return not (cascades or said.view or "deletion" in said.by_hand or not said.of)


@derived
def emptied(tables: Sequence[type[Table]]) -> list[type[Table]]:
    """Those whose rows do not go with others, those that others refer to last: to delete everything."""
    said = {table: declaration(table) for table in reversed(tables)}
    return [table for table in said if said[table].of in ("", "workspace") or "deletion" in said[table].by_hand]


def belongs_by(said: Declared) -> str:
    """The column that says to which row of another table a row belongs."""
    return said.by or f"{said.of}_id"
