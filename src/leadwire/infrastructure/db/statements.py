"""Statements: made once, at import, and run with values by name.

They are SQL: in a file beside the module that runs them (`load`) or, where they are short or made of what only the
module knows, in it (`sql`). Filling in the values takes about 1 us.
"""

import functools
import re
from collections.abc import Iterable, Mapping
from itertools import takewhile
from pathlib import Path
from typing import Any, Final

from piccolo.columns import Column
from piccolo.table import Table

from leadwire.infrastructure.db import DB, Row

_NAMED: Final = re.compile(r"(?<![:\w]):([a-z_]+)")
_TITLE: Final = re.compile(r"^-- (\{?[a-z0-9_]+\}?)(?:: (.+))?\n", re.MULTILINE)
_PART: Final = re.compile(r"\{([a-z_]+)\}")
_COMMENT: Final = re.compile(r"^ *--.*\n", re.MULTILINE)


class Statement:
    """A text with `$1` to `$n`, and the names of the values for them. `about`: what a file of SQL says it does."""

    about = ""

    def __init__(self, text: str, names: tuple[str, ...]) -> None:
        self.text, self.names = text, names

    def arguments(self, values: Mapping[str, Any]) -> list[Any]:
        """`values` in the order of the places. Raises KeyError for one that is missing, TypeError for one too many."""
        if len(values) != len(self.names):
            raise TypeError(f"takes {', '.join(self.names)}; given: {', '.join(values)}")
        return [values[name] for name in self.names]

    async def rows(self, **values: Any) -> list[Row]:
        """Run it, in the open transaction if there is one."""
        return await DB.fetch(self.text, self.arguments(values))

    async def row(self, **values: Any) -> Row | None:
        """The first row, or None."""
        rows = await DB.fetch(self.text, self.arguments(values))
        return rows[0] if rows else None

    async def one(self, missing: Exception, **values: Any) -> Row:
        """The first row. Raise `missing` when there is none."""
        row = await self.row(**values)
        if row is None:
            raise missing
        return row

    async def value(self, **values: Any) -> Any:
        """The first column of the first row, or None."""
        rows = await DB.fetch(self.text, self.arguments(values))
        return rows[0][0] if rows else None


def sql(text: str, *, after: int = 0) -> Statement:
    """SQL text with `:name` where the values go. Their places come `after` those that it has already."""
    names: dict[str, int] = {}
    placed = _NAMED.sub(lambda match: f"${names.setdefault(match[1], len(names) + 1 + after)}", text)
    return Statement(placed, tuple(names))


def load(module: str) -> dict[str, Statement]:
    """The statements of the file of SQL beside a module (its `__file__`), by name.

    Each begins with a line `-- name: what it does`, its name in small letters; other comments have lines of their own.
    That of a `query`, whose docstring says what it does, has its name alone.

    A title `-- {name}` is that of a part, which stands wherever `{name}` does below it. What several files have in
    common is in a `parts.sql` of their package, or of one around it. Raise KeyError for a part that is not there.
    """
    return _read(module)[0]


def parts(module: str) -> dict[str, str]:
    """The parts of the same file, for statements that are put together when they run."""
    return _read(module)[1]


@functools.cache
def _read(module: str) -> tuple[dict[str, Statement], dict[str, str]]:
    file = Path(module).with_suffix(".sql")
    packages = [*takewhile(lambda folder: (folder / "__init__.py").exists(), file.parents)]  # none around them
    shared = [path for folder in reversed(packages) if (path := folder / "parts.sql").exists()]
    statements, parts = dict[str, Statement](), dict[str, str]()
    for path in (*shared, file):
        _, *sections = _TITLE.split(path.read_text(encoding="utf-8"))
        for name, about, raw in zip(sections[::3], sections[1::3], sections[2::3], strict=True):
            text = _PART.sub(lambda part: parts[part[1]], _COMMENT.sub("", raw).strip())
            if name.startswith("{"):
                parts[name.strip("{}")] = text
            else:
                statements[name] = sql(text)
                statements[name].about = about or ""
    return statements, parts


def named(module: str, names: str) -> list[Statement]:
    """Those with these names, in this order. Raise KeyError, so at import, for one that is not in the file."""
    statements = load(module)
    return [statements[name] for name in names.split()]


def insert(*columns: Column, end: str = "") -> Statement:
    """An INSERT of one row: a value for each column, by its name. `end`: ON CONFLICT, RETURNING.

    Columns that are not named get the database's default. Piccolo's own INSERT writes every column, with defaults that
    would be those of import time.
    """
    names = [column._meta.db_column_name for column in columns]
    table, places = columns[0]._meta.table._meta.tablename, ", ".join(f":{name}" for name in names)
    return sql(f"INSERT INTO {table} ({', '.join(names)}) VALUES ({places}) {end}".rstrip())


def columns(table: type[Table], names: str) -> list[Column]:
    """The columns of `table` with these names, in that order. Raise ValueError, so at import, for one it has not."""
    return [table._meta.get_column_by_name(name) for name in names.split()]


def lists(names: str, rows: Iterable[Iterable[Any]]) -> dict[str, list[Any]]:
    """Rows turned into a list for each name, which `unnest` turns back. There is at least one row."""
    return dict(zip(names.split(), map(list, zip(*rows, strict=True)), strict=True))
