"""A table as a list: pages by number with an exact total for /v1, pages by cursor for screens and exports."""

from collections.abc import AsyncIterator, Callable, Mapping
from datetime import datetime, timedelta
from typing import Annotated, Any, Final, Generic, Self, TypeVar

from msgspec import Meta, Struct, structs

from leadwire.domain.listing.keyset import Found, Keyset
from leadwire.domain.listing.totals import Totals
from leadwire.infrastructure import ids

T = TypeVar("T")

_AT_ONCE: Final = 500  # items of an export that are in memory at a time


Moment = Annotated[datetime, Meta(tz=True)]
"""A moment in a query: whatever `clock.parse` reads."""

BotId = Annotated[str, Meta(pattern=rf"^bot_{ids.FORM}\Z")]


class PageQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What every list takes."""

    limit: Annotated[int, Meta(ge=1, le=100)] = 20
    """Results per page."""
    page: Annotated[int, Meta(ge=1, le=10**9)] = 1
    """Page number, from 1. A page past the last one is empty."""

    @property
    def offset(self) -> int:
        """Rows before this page."""
        return (self.page - 1) * self.limit


class SearchQuery(Struct, frozen=True, kw_only=True):
    """What every list on a screen takes."""

    q: Annotated[str, Meta(max_length=200)] = ""
    """Words that must all be found, in any case."""
    bot_id: BotId | None = None
    since: Moment | None = None
    """The first day (UTC)."""
    until: Moment | None = None
    """The last day (UTC), included."""
    after: Annotated[str, Meta(max_length=100)] = ""
    """The cursor that the page before gave."""

    def exclusive(self) -> Self:
        """The same with `since` and `until` as moments that are not included themselves, as in /v1."""
        since = self.since and self.since - timedelta(microseconds=1)
        return structs.replace(self, since=since, until=self.until and self.until + timedelta(days=1))


class Listing(Generic[T]):
    """A list of what `make` makes of a row. `orders`: how searches are sorted, by name; "newest" is the default."""

    def __init__(self, make: Callable[[Any], T], totals: Totals, orders: Mapping[str, Keyset]) -> None:
        self._make = make
        self._totals = totals
        self._orders = orders

    async def page(self, workspace: str, query: PageQuery) -> tuple[list[T], int]:
        """Return one page, newest first, and how many match in all."""
        found, total = await self._totals.page(workspace, query, query.limit, query.offset)
        return [self._make(row) for row in found], total

    async def search(self, workspace: str, query: SearchQuery, limit: int = 50) -> Found[T]:
        """Return one page. Raise InvalidParameter for an `after` that no page gave."""
        order = self._orders[getattr(query, "sort", "newest")]
        page = await order.page(workspace, query.exclusive(), query.after, limit, query.q)
        return Found([self._make(row) for row in page.items], page.after, page.stopped)

    async def total(self, workspace: str, query: SearchQuery) -> int | None:
        """Return how many match; None where words are searched for, since that would take reading every row."""
        return None if query.q else (await self._totals.page(workspace, query.exclusive(), 1, 0))[1]

    async def walk(self, workspace: str, query: SearchQuery) -> AsyncIterator[list[T]]:
        """Yield everything that matches, some hundreds at a time."""
        after: str | None = ""
        while after is not None:
            found = await self.search(workspace, structs.replace(query, after=after), _AT_ONCE)
            yield found.items
            after = found.after
