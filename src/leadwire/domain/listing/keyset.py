"""Lists by cursor: a page begins after the last row of the one before, whatever was added or deleted in between.

The cost of a page does not grow with its depth. Nor does it grow with the list when text is searched for: one page
reads `LOOKED_AT` rows at most and says when it stopped there.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Generic, TypeVar

from msgspec import Struct

from leadwire.infrastructure import db
from leadwire.infrastructure.db.statements import sql
from leadwire.infrastructure.errors import InvalidParameter

T = TypeVar("T")

LOOKED_AT: Final = 20_000
"""Rows that a search reads before it returns what it has found: some 30 ms."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_MS: Final = 253_000_000_000_000  # in the year 9987
_ID: Final = re.compile(r"[a-z]{1,10}_[0-9a-z]{26}")


class Found(Struct, Generic[T], frozen=True):
    """One page; `after` is the cursor of the next, None at the end. `stopped`: a search has read `LOOKED_AT` rows."""

    items: list[T]
    after: str | None
    stopped: bool = False


class Keyset(Struct, frozen=True, kw_only=True):
    """How a table is listed. `key` is the order, as column -> type; an index has it after `workspace_id`."""

    table: str
    columns: str
    """Those of the key are among them."""
    filters: Mapping[str, str]
    """For each attribute of a query that filters, the SQL with `:attribute` for its value."""
    key: Mapping[str, str]
    descending: bool = True
    text: str = "''"
    """The expression that is searched in."""

    def used(self, query: object) -> dict[str, Any]:
        """The filters that `query` sets, with their values. An empty text is not set."""
        given = {name: getattr(query, name, None) for name in self.filters}
        return {name: value for name, value in given.items() if value not in (None, "")}

    def source(self, used: Iterable[str]) -> str:
        """FROM and WHERE with these filters."""
        return " AND ".join(
            [f"FROM {self.table} WHERE workspace_id = :workspace", *(self.filters[one] for one in used)]
        )

    async def page(self, workspace: str, query: object, after: str, limit: int, words: str = "") -> Found[db.Row]:
        """Return one page. `words` must all be in the text, in any case. Raise InvalidParameter for a wrong `after`."""
        values = self.used(query)
        ordered = self.source(values)
        values["workspace"] = workspace
        if after:
            values |= self._key(after)
            places = ", ".join(f":after_{column}::{kind}" for column, kind in self.key.items())
            ordered += f" AND ({', '.join(self.key)}) {'<' if self.descending else '>'} ({places})"
        order = ", ".join(f"{column} {'DESC' if self.descending else 'ASC'}" for column in self.key)
        ordered += f" ORDER BY {order}"
        if not words:
            found = await sql(f"SELECT {self.columns} {ordered} LIMIT {limit + 1:d}").rows(**values)
            return self._page(found, limit)
        # The words are compared with a bounded number of rows in the order of the list.
        found = await sql(
            f"""SELECT {self.columns} FROM (SELECT * {ordered} LIMIT {LOOKED_AT}) looked_at
                WHERE lower({self.text}) LIKE ALL (:patterns::text[]) ORDER BY {order} LIMIT {limit + 1:d}"""
        ).rows(**values, patterns=[f"%{_escaped(word)}%" for word in words.lower().split()])
        if len(found) > limit:
            return self._page(found, limit)
        # The last of those rows, where the search goes on.
        last = await sql(f"SELECT {', '.join(self.key)} {ordered} OFFSET {LOOKED_AT - 1} LIMIT 1").row(**values)
        return Found(found, self._cursor(last) if last else None, stopped=last is not None)

    def _page(self, found: list[db.Row], limit: int) -> Found[db.Row]:
        return Found(found[:limit], self._cursor(found[limit - 1]) if len(found) > limit else None)

    def _cursor(self, row: db.Row) -> str:
        values = [row[column] for column in self.key]
        return ".".join(
            str((value - _EPOCH) // timedelta(milliseconds=1)) if isinstance(value, datetime) else str(value)
            for value in values
        )

    def _key(self, cursor: str) -> dict[str, Any]:
        parts = cursor.split(".")
        if len(parts) != len(self.key):
            raise _wrong_cursor()
        return {f"after_{name}": _read(part, kind) for part, (name, kind) in zip(parts, self.key.items(), strict=True)}


def _read(part: str, kind: str) -> Any:
    if kind == "text":
        if not _ID.fullmatch(part):
            raise _wrong_cursor()
        return part
    if not (part.isascii() and part.isdigit()) or int(part[:16]) > (_LAST_MS if kind == "timestamptz" else 32767):
        raise _wrong_cursor()
    return _EPOCH + timedelta(milliseconds=int(part)) if kind == "timestamptz" else int(part)


def _escaped(word: str) -> str:
    return re.sub(r"([\\%_])", r"\\\1", word)


def _wrong_cursor() -> InvalidParameter:
    return InvalidParameter("`after` is not from a page of this list. Start at its first page.")
