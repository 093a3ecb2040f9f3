"""A table as a list: pages by number or by cursor with a total for /v1, pages by cursor for screens and exports.

Counting is the real cost of a list. A total is kept with the snapshot it was counted in, and counted again only when
the outbox holds a change of the workspace that this snapshot could not see. That is right because such a change is in
the outbox, in its own transaction: a change that commits later than the count shows itself however long it was open.
A snapshot means something to its server only, up to a restart: after a failover or a restore everything is counted.
What a change without an event can affect is counted every time.
"""

from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextvars import ContextVar
from datetime import datetime, timedelta
from typing import Any, Final, Generic, NamedTuple, TypeVar

from msgspec import UNSET, Struct, UnsetType, field, structs

from leadwire.domain.listing import cursors
from leadwire.domain.listing.keyset import AT_ONCE, UPDATED, Found, Keyset
from leadwire.domain.listing.queries import PageQuery, SearchQuery
from leadwire.infrastructure import clock, db, ids
from leadwire.infrastructure.db.statements import Statement, sql

T = TypeVar("T")

SKIPPED: Final = ContextVar("skipped", default=0)
"""Rows that this request has read to come to a page by its number."""
_COUNTED: Final = -3  # where the columns of the count begin
_KEPT: Final = 10_000  # totals, least recently used go first
_FRESH: Final = timedelta(hours=1)
# These two bound the partitions of the outbox that are looked at.
_LONGEST_TRANSACTION: Final = timedelta(days=1)
_FARTHEST_CLOCK: Final = timedelta(days=1)


class Part(NamedTuple, Generic[T]):
    """One page of a list of /v1. By cursor, `total` is that of the first page, and `next_cursor` is None at the end.
    `complete`: whether nothing is missing for not being written down for the search.
    """

    items: list[T]
    total: int
    page: int
    next_cursor: str | UnsetType | None = UNSET
    complete: bool | UnsetType = UNSET


class Figures:
    """Figures about what was created since a time, of all bots or of one: a text each, so that each gets its own plan.

    `text` has `{bot}` where the condition for one bot goes. With `by_day`, it is run for each day (UTC), with
    `{on}` where the condition for the day goes: a range of an index for each costs less than a date made of each row.
    """

    def __init__(self, text: str, *, by_day: bool = False) -> None:
        if by_day:
            days = "generate_series(:since::timestamptz, now(), interval '1 day') day"
            text = f"SELECT day::date, counted.* FROM {days} CROSS JOIN LATERAL ({text}) counted"
        on = "created_at >= day AND created_at < day + interval '1 day'"
        self._statements = [sql(text.format(bot=bot, on=on)) for bot in ("", "AND bot_id = :bot_id")]

    async def rows(self, workspace: str, since: datetime, bot_id: str | None = None) -> list[db.Row]:
        """Return them. `since` is included."""
        bot = {"bot_id": bot_id} if bot_id else {}
        return await self._statements[len(bot)].rows(workspace=workspace, since=since, **bot)


class _Count(Struct):
    total: int
    snapshot: str
    server: datetime  # when the server started that the snapshot is of
    taken_at: datetime


class Listing(Struct, Generic[T]):
    """A list, with the totals that this process knows. `having` returns the ids of the rows with the words of `q`, and
    whether none is missing; it raises InvalidParameter where there are too many. `orders`: how searches are sorted
    other than newest first; `sorts`: the columns that `sort` takes in /v1.

    `kinds` are the events that change how many rows there are; `kinds_when` has further ones for a filter that is used.
    `unannounced` has the values of a filter that rows come to have, or lose, without an event; None for any value.
    """

    newest: Keyset[T]
    having: Callable[[str, PageQuery], Awaitable[tuple[list[str], bool]]]
    kinds: Sequence[str]
    kinds_when: Mapping[str, Sequence[str]]
    unannounced: Mapping[str, Collection[str] | None] = {}
    orders: Mapping[str, Keyset[T]] = {}
    sorts: Mapping[str, Keyset[T]] = {}
    _counts: OrderedDict[tuple[object, ...], _Count] = field(default_factory=OrderedDict)
    _statements: dict[tuple[str, ...], Statement] = {}  # one for each order and filters, so that each has its own plan

    async def search(self, workspace: str, query: SearchQuery, limit: int = 50) -> Found[T]:
        """Return one page. Raise InvalidParameter for an `after` that no page gave."""
        order = self.orders.get(getattr(query, "sort", ""), self.newest)
        return await order.page(workspace, query.exclusive(), query.after, limit, query.q)

    async def walk(self, workspace: str, query: SearchQuery) -> AsyncIterator[list[T]]:
        """Yield everything that matches, some hundreds at a time."""
        page = Found[T]([], "")
        while page.after is not None:
            page = await self.search(workspace, structs.replace(query, after=page.after), AT_ONCE)
            yield page.items

    def export(self, workspace: str, query: PageQuery, after: str = "") -> AsyncIterator[list[T]]:
        """Walk through all that matches, oldest first; by `updated_at` with a filter by it. See `Keyset.walk`."""
        sort = "updated_at" if any(getattr(query, name) is not None for name in UPDATED) else "created_at"
        return self._sorted(sort).walk(workspace, query, after)

    async def total(self, workspace: str, query: SearchQuery) -> int | None:
        """Return how many match; None where words are searched for, since that would take reading every row."""
        if query.q:
            return None
        return (await self._counted(self.newest, workspace, self.newest.used(query.exclusive()), 1, 0))[1]

    async def page(self, workspace: str, query: PageQuery) -> Part[T]:
        """Return one page and the total. Raise InvalidParameter for parameters that do not go together, or a cursor
        that is not of this list.
        """
        order, number = self.order_of(query), query.page or 1
        used = order.used(query)
        words = {} if query.q is None else {"q": query.q}
        about = (workspace, order.table, order.order, sorted((used | words).items()))
        if query.cursor is not None and query.page is not None:
            raise cursors.refused("page", "conflicting_parameter", "Not together with `cursor`, which says where.")
        complete: bool | UnsetType = UNSET
        if query.q is not None:
            used["ids"], complete = await self.having(workspace, query)
        if query.cursor in (None, cursors.FIRST):
            skipped = (number - 1) * query.limit
            rows, total = await self._counted(order, workspace, used, query.limit, skipped)
            items = [order.make(row[:_COUNTED]) for row in rows]
            SKIPPED.set(skipped if rows else 0)
            if query.cursor is None:
                return Part(items, total, number, complete=complete)
            after = order.place(rows[-1]) if total > len(rows) else None
        else:
            cursor = cursors.opened(query.cursor, about)
            number, total = cursor.page, cursor.total
            page = await order.page(workspace, used, cursor.after, query.limit)
            items, after = page.items, page.after
        following = after and cursors.sealed(cursors.Place(after, number + 1, total), about)
        return Part(items, total, number, following, complete)

    def order_of(self, query: PageQuery) -> Keyset[T]:
        """Return the order that a query asks for. Raise InvalidParameter where a filter does not go with it."""
        by_update = [name for name in UPDATED if getattr(query, name) is not None]
        sort = query.sort or ("updated_at" if by_update else "-created_at")
        if by_update and not sort.endswith("updated_at"):
            message = f"`{by_update[0]}` goes with the order of `updated_at` or `-updated_at` only."
            raise cursors.refused("sort", "conflicting_parameter", message)
        return self._sorted(sort)

    def _sorted(self, sort: str) -> Keyset[T]:
        return structs.replace(self.sorts[sort.removeprefix("-")], descending=sort.startswith("-"))

    async def _counted(
        self, order: Keyset[T], workspace: str, used: Mapping[str, Any], limit: int, offset: int
    ) -> tuple[list[db.Row], int]:
        """The rows of one page, with what was counted behind them, and the total: one snapshot, one round trip."""
        now = clock.now()
        key = (workspace, *used.items())
        unannounced = any(
            name in used and (some is None or used[name] in some) for name, some in self.unannounced.items()
        )
        count = None if unannounced else self._counts.get(key)
        if count and now - count.taken_at > _FRESH:
            count = None
        form = (order.table, order.order, *used)
        if form not in self._statements:
            self._statements[form] = _build(order, tuple(used))
        rows = await self._statements[form].rows(
            workspace=workspace,
            **used,
            limit=limit,
            offset=offset,
            snapshot=count.snapshot if count else None,
            server=count.server if count else None,
            total=count.total if count else None,
            kinds=[*self.kinds, *(kind for name in used for kind in self.kinds_when.get(name, ()))],
            first=ids.floor("evt", (count.taken_at if count else now) - _LONGEST_TRANSACTION),
            end=ids.floor("evt", now + _FARTHEST_CLOCK),
        )
        *_, snapshot, server, total = rows[0]
        if total is not None:
            count = _Count(total, snapshot, server, now)
        assert count is not None  # noqa: S101 - without a known count the statement counts
        if not unannounced:
            self._counts[key] = count
            self._counts.move_to_end(key)
        if len(self._counts) > _KEPT:
            self._counts.popitem(last=False)
        return [row for row in rows if row[0] is not None], count.total


def _build(order: Keyset[T], used: tuple[str, ...]) -> Statement:
    source = order.source(used)
    # Without a filter, the order of an index keeps the plan, which is made for the average workspace and kept for
    # all, from reading the whole table.
    counted = source if used else f"FROM (SELECT {source} {order.order}) in_order"
    # A page, and the total unless the outbox has no change that the known snapshot could not see.
    # ORDER BY xact holds the planner to the index of workspace, kind and xact: it takes the
    # primary key for as cheap, which would read all events of the day. What is restored from a dump may have a
    # later xact than this server has come to: no change that is still to be seen.
    # Beyond the last page the limit is 0, so that nothing is skipped row by row. Materialized: else the count,
    # which is asked for twice, would be made twice.
    return sql(f"""
    WITH counted AS MATERIALIZED (
        SELECT CASE WHEN pg_is_in_recovery() THEN format('%s:%1$s:', pg_snapshot_xmin(pg_current_snapshot()))
            ELSE pg_current_snapshot()::text END, pg_postmaster_start_time() AS server,
          CASE WHEN :snapshot::text IS NULL OR :server::timestamptz <> pg_postmaster_start_time() OR EXISTS (
            SELECT 1 FROM unnest(:kinds::text[]) AS changing (kind) CROSS JOIN LATERAL (
                SELECT 1 FROM event
                WHERE workspace_id = :workspace AND kind = changing.kind AND id >= :first::text AND id < :end::text
                  AND xact >= pg_snapshot_xmin(:snapshot::text::pg_snapshot)
                  AND xact < pg_snapshot_xmax(pg_current_snapshot())
                  AND NOT pg_visible_in_snapshot(coalesce(writer, xact), :snapshot::text::pg_snapshot)
                ORDER BY xact LIMIT 1
            ) unseen
        ) THEN (SELECT count(*) {counted}) END AS count
    ) SELECT page.*, counted.* FROM counted LEFT JOIN LATERAL (
        SELECT {order.columns} {source} {order.order}
        LIMIT CASE WHEN :offset < coalesce(counted.count, :total) THEN :limit ELSE 0 END OFFSET :offset
    ) page ON true""")
