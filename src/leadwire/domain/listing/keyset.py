"""Lists walked by key: a page begins after the last row of the one before, whatever came or went meanwhile.

The cost of a page does not grow with its depth. Nor does it with the size of the list when text is searched for: one
page looks at `LOOKED_AT` rows at the most and says when it stopped there.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from msgspec import Struct

from leadwire.infrastructure import db
from leadwire.infrastructure.errors import InvalidParameter

LOOKED_AT: Final = 20_000
"""Rows that a search looks at before it answers what it has found: some 30 ms."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_MS: Final = 253_000_000_000_000  # in the year 9987
_ID: Final = re.compile(r"[a-z]{1,10}_[0-9a-z]{26}")

Key = tuple[Any, ...]


class Page(Struct, frozen=True):
    """The rows of a page; `after` leads on, None at the end. `stopped`: the search may find more further on."""

    rows: list[db.Row]
    after: str | None
    stopped: bool = False


class Keyset(Struct, frozen=True, kw_only=True):
    """How a table is listed. `key` is the order, as column -> type; an index has it after `workspace_id`."""

    table: str
    columns: str
    """Among them those of the key."""
    key: Mapping[str, str]
    descending: bool = True
    text: str = "''"
    """The expression that is searched in."""

    async def page(
        self, workspace: str, conditions: Mapping[str, Any], after: str, limit: int, words: str = ""
    ) -> Page:
        """One page. `conditions` is SQL with `{}` -> its value; `words` must all be in the text, whatever their case.

        Raises InvalidParameter for an `after` that no page gave.
        """
        values: list[Any] = [workspace]
        where = ["workspace_id = $1"]
        for condition, value in conditions.items():
            values.append(value)
            where.append(condition.format(f"${len(values)}"))
        if after:
            key = self._key(after)
            places = ", ".join(f"${len(values) + n}::{kind}" for n, kind in enumerate(self.key.values(), 1))
            where.append(f"({', '.join(self.key)}) {'<' if self.descending else '>'} ({places})")
            values.extend(key)
        ordered = f"FROM {self.table} WHERE {' AND '.join(where)} ORDER BY {self._order()}"
        if not words:
            found = await db.rows(f"SELECT {self.columns} {ordered} LIMIT {limit + 1:d}", *values)
            return self._page(found, limit)
        found = await db.rows(
            f"""SELECT {self.columns} FROM (SELECT * {ordered} LIMIT {LOOKED_AT}) looked_at
                WHERE lower({self.text}) LIKE ALL (${len(values) + 1}::text[]) ORDER BY {self._order()}
                LIMIT {limit + 1:d}""",
            *values,
            [f"%{_literally(word)}%" for word in words.lower().split()],
        )
        if len(found) > limit:
            return self._page(found, limit)
        last = await db.row(f"SELECT {', '.join(self.key)} {ordered} OFFSET {LOOKED_AT - 1} LIMIT 1", *values)
        return Page(found, self._cursor(last) if last else None, stopped=last is not None)

    def _page(self, found: list[db.Row], limit: int) -> Page:
        return Page(found[:limit], self._cursor(found[limit - 1]) if len(found) > limit else None)

    def _order(self) -> str:
        return ", ".join(f"{column} {'DESC' if self.descending else 'ASC'}" for column in self.key)

    def _cursor(self, row: db.Row) -> str:
        values = [row[column] for column in self.key]
        return ".".join(
            str((value - _EPOCH) // timedelta(milliseconds=1)) if isinstance(value, datetime) else str(value)
            for value in values
        )

    def _key(self, cursor: str) -> Key:
        parts = cursor.split(".")
        if len(parts) != len(self.key):
            raise _unknown()
        return tuple(_read(part, kind) for part, kind in zip(parts, self.key.values(), strict=True))


def _read(part: str, kind: str) -> Any:
    if kind == "text":
        if not _ID.fullmatch(part):
            raise _unknown()
        return part
    if not (part.isascii() and part.isdigit()) or int(part[:16]) > (_LAST_MS if kind == "timestamptz" else 32767):
        raise _unknown()
    return _EPOCH + timedelta(milliseconds=int(part)) if kind == "timestamptz" else int(part)


def _literally(word: str) -> str:
    return re.sub(r"([\\%_])", r"\\\1", word)


def _unknown() -> InvalidParameter:
    return InvalidParameter("`after` is not from a page of this list. Start at its first page.")
