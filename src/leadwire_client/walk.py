"""All rows of a list, page after page by cursor: what stays comes exactly once, whatever comes and goes meanwhile."""

from collections.abc import Callable, Mapping
from typing import Any, Final, Generic, TypedDict, TypeVar

from leadwire_client.call import Call, Moment
from leadwire_client.types import Page

_LARGEST: Final = 100  # rows of a page

T = TypeVar("T")


class Filters(TypedDict, total=False):
    """What is listed, and in which order. Times are exclusive; `since` and `until` are about `created_at`. `sort` is
    `created_at` or `updated_at`, descending with `-` before it. `q` has words that must all be there.
    """

    q: str | None
    bot_id: str | None
    since: Moment | None
    until: Moment | None
    updated_since: Moment | None
    updated_before: Moment | None
    sort: str | None


class Walk(Generic[T]):
    """Page after page: `call` says what to ask next (None at the end), `rows` takes the answer.

    `limit` is the rows of a page; with `follow` there is always a next page, which is asked for until it comes.
    """

    def __init__(
        self,
        page: Callable[..., Call[Page[T]]],
        query: Mapping[str, Any],
        *,
        limit: int | None = None,
        cursor: str = "first",
        follow: bool = False,
    ) -> None:
        self._page, self.follow = page, follow
        self._query = {**query, "limit": _LARGEST if limit is None else limit}
        self.call: Call[Page[T]] | None = page(cursor=cursor, **self._query)

    def rows(self, page: Page[T]) -> list[T]:
        """The rows of `page`."""
        going_on = page.next_cursor and (page.has_next or self.follow)
        self.call = self._page(cursor=page.next_cursor, **self._query) if going_on else None
        return page.data
