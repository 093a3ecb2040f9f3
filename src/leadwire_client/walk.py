"""All rows of a list, although it moves: by time, not by page number.

Page numbers shift under every row that comes or goes: following `rel="next"` would repeat rows when leads arrive and
skip rows when leads are deleted, as `for lead in lw.leads.list(): lw.leads.delete(lead.id)` does. So each page
is asked for by the time of the last row seen. Rows of that very millisecond come again and are dropped by their id.
In another order than newest first, pages are asked for by cursor.
"""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, Generic, Protocol, TypeVar

from leadwire_client.call import Call
from leadwire_client.types import Page

_LARGEST = 100  # rows of a page
_OTHER_ORDER = ("sort", "updated_since", "updated_before")
_TICK = timedelta(milliseconds=1)  # the precision of `created_at`


class Row(Protocol):
    """What a walk needs to know of a row."""

    @property
    def id(self) -> str: ...
    @property
    def created_at(self) -> datetime: ...


T = TypeVar("T")
R = TypeVar("R", bound=Row)


class Pages(Generic[T]):
    """Page after page: `call` says what to ask next (None at the end), `rows` takes the answer."""

    call: Call[Page[T]] | None

    def rows(self, page: Page[T]) -> list[T]:
        """The rows of `page` that were not seen before."""
        raise NotImplementedError


class Walk(Pages[R]):
    """One walk: `call` says what to ask next (None at the end), `rows` takes the answer."""

    def __init__(
        self, page: Callable[..., Call[Page[R]]], filters: Mapping[str, Any], limit: int | None = None, first: int = 1
    ) -> None:
        """`limit` is the rows of a page, `first` the page to begin with. Raises ValueError for one by cursor."""
        self._page = page
        self._limit = _LARGEST if limit is None else limit
        self._filters = dict(filters)
        self._number = first
        self._last: datetime | None = None
        self._seen: set[str] = set()  # the ids at `_last`
        self._by_cursor = any(filters.get(name) is not None for name in _OTHER_ORDER)
        if self._by_cursor and first != 1:
            raise ValueError("page: a walk in another order than newest first begins at its first page")
        start = {"cursor": "first"} if self._by_cursor else {"page": first}
        self.call = page(limit=self._limit, **start, **filters)

    def rows(self, page: Page[R]) -> list[R]:
        """The rows of `page` that were not seen before."""
        if self._by_cursor:
            following = page.next_cursor
            self.call = self._page(limit=self._limit, cursor=following, **self._filters) if following else None
            return page.data
        fresh = [row for row in page.data if row.id not in self._seen]
        if fresh:
            last = fresh[-1].created_at
            kept = self._seen if last == self._last else set()
            self._seen = kept | {row.id for row in fresh if row.created_at == last}
            self._last, self._number = last, 1
            self._filters["until"] = last + _TICK
        else:  # more rows of one millisecond than fit on a page
            self._number += 1
        self.call = self._page(limit=self._limit, page=self._number, **self._filters) if page.has_next else None
        return fresh
