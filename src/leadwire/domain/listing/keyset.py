"""Lists by cursor: a page begins after the last row of the one before, whatever was added or deleted in between.

The cost of a page does not grow with its depth. Nor does it grow with the list when text is searched for: one page
reads `LOOKED_AT` rows at most and says when it stopped there.
"""

import re
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Generic, TypeVar

from msgspec import Struct

from leadwire.domain.listing.cursors import refused
from leadwire.infrastructure import clock
from leadwire.infrastructure.db.statements import sql
from leadwire.infrastructure.errors import InvalidParameter

T = TypeVar("T")

AT_ONCE: Final = 500
"""Rows of an export that are in memory at a time."""
LOOKED_AT: Final = 20_000
"""Rows that a search reads before it returns what it has found: some 30 ms."""
BY_TIME: Final = {"created_at": "timestamptz", "id": "text"}
BY_UPDATE: Final = {"updated_at": "timestamptz", "id": "text"}
UPDATED: Final = {"updated_since": "updated_at > :updated_since", "updated_before": "updated_at < :updated_before"}
BY_BOT_AND_TIME: Final = {
    "ids": "id = ANY(:ids::text[])",
    "bot_id": "bot_id = :bot_id",
    "since": "created_at > :since",
    "until": "created_at < :until",
}
"""Filters that the lists of /v1 have in common."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
# The parts of a cursor: an id, milliseconds up to the year 5138, a small number.
_FORMS: Final = {"text": "[a-z]{1,10}_[0-9a-z]{26}", "timestamptz": "[0-9]{1,14}", "smallint": "[0-9]{1,4}"}


class Found(Struct, Generic[T], frozen=True):
    """One page; `after` is the cursor of the next, None at the end. `stopped`: a search has read `LOOKED_AT` rows."""

    items: list[T]
    after: str | None
    stopped: bool = False


class Keyset(Struct, Generic[T], frozen=True, kw_only=True):
    """How a table is listed. `key` is the order, as column -> type; an index has it after `workspace_id`."""

    make: Callable[[Any], T]
    """Returns the item of a row."""
    table: str
    columns: str
    """Those of the key are among them."""
    filters: Mapping[str, str]
    """For each attribute of a query that filters, the SQL with `:attribute` for its value."""
    key: Mapping[str, str]
    descending: bool = True
    text: str = "''"
    """The expression that is searched in."""
    looked_at: int | None = None
    """Instead of `LOOKED_AT`."""

    def used(self, query: object) -> dict[str, Any]:
        """The filters that `query` sets, or has as a mapping, with their values. An empty text is not set."""
        values = query if isinstance(query, dict) else {name: getattr(query, name, None) for name in self.filters}
        return {name: value for name, value in values.items() if value not in (None, "")}

    @property
    def order(self) -> str:
        """ORDER BY."""
        return "ORDER BY " + ", ".join(f"{column} {'DESC' if self.descending else 'ASC'}" for column in self.key)

    def source(self, used: Iterable[str]) -> str:
        """FROM and WHERE with these filters."""
        conditions = ["workspace_id = :workspace", *(self.filters[name] for name in used)]
        return f"FROM {self.table} WHERE {' AND '.join(conditions)}"

    def sought(self, words: Any) -> tuple[str, dict[str, Any]]:
        """The condition for `words`, which must all be in the text, in any case; and the values in it."""
        return (
            f"lower({self.text}) LIKE ALL (ARRAY(SELECT lower(word) FROM unnest(:patterns::text[]) word))",
            {"patterns": [f"%{word}%" for word in re.sub(r"([\\%_])", r"\\\1", words).split()]},
        )

    async def page(self, workspace: str, query: object, after: str, limit: int, words: Any = "") -> Found[T]:
        """Return one page. `words` must all be in the text, in any case. Raise InvalidParameter for a wrong `after`."""
        values = self.used(query)
        ordered = self.source(values)
        values["workspace"] = workspace
        if after:
            values |= self.values(after)
            places = ", ".join(f":after_{column}::{kind}" for column, kind in self.key.items())
            ordered += f" AND ({', '.join(self.key)}) {'<' if self.descending else '>'} ({places})"
        ordered = f"{ordered} {self.order}"
        statement, patterns, stop = f"SELECT {self.columns} {ordered} LIMIT {limit + 1:d}", dict[str, Any](), None
        if words:  # they are compared with a bounded number of rows in the order of the list
            condition, patterns = self.sought(words)
            most = self.looked_at or LOOKED_AT
            # Where too few have them, the row that the search has come to is the last, marked. It is of the same
            # statement: after a deletion it would be another, and what lies between would never be looked at.
            statement = f"""WITH found AS (SELECT {self.columns}, false FROM (SELECT * {ordered} LIMIT {most}) looked_at
                WHERE {condition} {self.order} LIMIT {limit + 1:d})
            SELECT * FROM found UNION ALL SELECT * FROM (SELECT {self.columns}, true {ordered} OFFSET {most - 1}
                LIMIT CASE WHEN (SELECT count(*) FROM found) > {limit:d} THEN 0 ELSE 1 END) looked_at"""
        rows = await sql(statement).rows(**values, **patterns)
        if words and rows and rows[-1][-1]:
            stop = rows.pop()
        last = rows[limit - 1] if len(rows) > limit else stop
        items = [self.make(row[:-1] if words else row) for row in rows[:limit]]
        return Found(items, self.place(last) if last else None, stopped=stop is not None)

    async def walk(self, workspace: str, query: object, after: str) -> AsyncIterator[list[T]]:
        """Yield all that match behind a row, some hundreds at a time. `after` has the values of the row's key, with a
        comma between them; empty, it begins. Raise InvalidParameter for another.
        """
        cursor: str | None = self.place_of(after) if after else ""
        while cursor is not None:
            page = await self.page(workspace, query, cursor, AT_ONCE)
            if page.items:
                yield page.items
            cursor = page.after

    def place(self, row: Any) -> str:
        """Return where a row is in the list, as `after` takes it."""
        values = [row[column] for column in self.key]
        return ".".join(
            str((value - _EPOCH) // timedelta(milliseconds=1)) if isinstance(value, datetime) else str(value)
            for value in values
        )

    def place_of(self, after: str) -> str:
        """Return where the row with these values of the key is, with a comma between them. Raise InvalidParameter."""
        try:
            texts = dict(zip(self.key, after.split(","), strict=True))
            times = {column for column, kind in self.key.items() if kind == "timestamptz"}
            place = self.place(texts | {column: clock.parse(texts[column]) for column in times})
            self.values(place)
        except (ValueError, OverflowError, InvalidParameter):
            message = f"Must be the values of {', '.join(self.key)} of a row, with a comma between them."
            raise refused("after", "invalid_cursor", message) from None
        return place

    def values(self, cursor: str) -> dict[str, Any]:
        """Return the parameters of a place. Raise InvalidParameter."""
        match = re.fullmatch(r"\.".join(f"({_FORMS[kind]})" for kind in self.key.values()), cursor)
        if match is None:
            raise InvalidParameter("`after` is not from a page of this list. Start at its first page.")
        parts = zip(self.key.items(), match.groups(), strict=True)
        return {f"after_{column}": _value(kind, part) for (column, kind), part in parts}


def _value(kind: str, part: str) -> str | int | datetime:
    if kind == "timestamptz":
        return _EPOCH + timedelta(milliseconds=int(part))
    return int(part) if kind == "smallint" else part
