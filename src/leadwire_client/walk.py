"""All rows of a list, page after page by cursor: what stays comes exactly once, whatever comes and goes meanwhile."""

from collections.abc import Callable, Mapping
from typing import Any, Final, Generic, TypeVar

from leadwire_client.call import Call
from leadwire_client.types import Page

_LARGEST: Final = 100  # rows of a page

T = TypeVar("T")


class Pages(Generic[T]):
    """Page after page: `call` says what to ask next (None at the end), `rows` takes the answer."""

    call: Call[Page[T]] | None

    def rows(self, page: Page[T]) -> list[T]:
        """The rows of `page`."""
        raise NotImplementedError


class Walk(Pages[T]):
    """The pages of a list with these filters; `limit` is the rows of one."""

    def __init__(self, page: Callable[..., Call[Page[T]]], filters: Mapping[str, Any], limit: int | None) -> None:
        self._page = page
        self._query = {**filters, "limit": _LARGEST if limit is None else limit}
        self.call = page(cursor="first", **self._query)

    def rows(self, page: Page[T]) -> list[T]:
        self.call = self._page(cursor=page.next_cursor, **self._query) if page.next_cursor else None
        return page.data
