"""Exact totals without recounting.

Counting is the real cost of a list. A total is kept with the snapshot it was counted in, and counted again only when
the outbox holds a change of the workspace that this snapshot could not see. That is right because such a change is in
the outbox, in its own transaction: a change that commits later than the count shows itself however long it was open.
What a change without an event can touch is counted every time.
"""

import functools
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec

from leadwire.infrastructure import clock, db, ids

_KEPT: Final = 10_000  # totals, least recently used go first
_FRESH: Final = timedelta(hours=1)
# These two bound the partitions of the outbox that are looked at.
_LONGEST_TRANSACTION: Final = timedelta(days=1)
_FARTHEST_CLOCK: Final = timedelta(days=1)

_NEWEST_FIRST: Final = "ORDER BY created_at DESC, id DESC"


class _Count(msgspec.Struct):
    total: int
    snapshot: str
    taken_at: datetime


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """How a table is listed: its columns, and for each filter SQL with `{}` for the value."""

    table: str
    columns: str
    conditions: Mapping[str, str]
    kinds: Sequence[str]
    """The events that change how many rows there are."""
    kinds_when: Mapping[str, Sequence[str]]
    """Further ones, when a filter (the key) is used."""
    unannounced: Mapping[str, Collection[str]] = {}
    """Values of a filter that rows come to have, or lose, without an event."""


class Totals:
    """The pages and the totals of one kind of resource, for this process."""

    def __init__(self, listing: Listing) -> None:
        self._listing = listing
        self._counts: OrderedDict[tuple[object, ...], _Count] = OrderedDict()
        self._sql = functools.cache(self._make_sql)  # one text per set of filters that are used: each gets its own plan

    async def page(self, workspace: str, query: object, limit: int, offset: int) -> tuple[list[Sequence[Any]], int]:
        """One page of rows and the exact total, from one snapshot of the database and in one round trip.

        The attributes of `query` that are named as filters are used unless they are None. Newest first.
        """
        listing = self._listing
        filters = {name: value for name in listing.conditions if (value := getattr(query, name)) is not None}
        now = clock.now()
        key = (workspace, *filters.items())
        known = self._counts.get(key)
        if known and (now - known.taken_at > _FRESH or self._unannounced(filters)):
            known = None
        found = await db.rows(
            self._sql(tuple(filters)),
            workspace,
            *filters.values(),
            limit,
            offset,
            known.snapshot if known else None,
            known.total if known else None,
            [*listing.kinds, *(kind for name in filters for kind in listing.kinds_when.get(name, ()))],
            ids.floor("evt", (known.taken_at if known else now) - _LONGEST_TRANSACTION),
            ids.floor("evt", now + _FARTHEST_CLOCK),
        )
        snapshot, total, *_ = found[0]
        if total is not None:
            known = self._counts[key] = _Count(total, snapshot, now)
        assert known is not None  # noqa: S101 - without a known count the statement counts
        self._counts.move_to_end(key)
        if len(self._counts) > _KEPT:
            self._counts.popitem(last=False)
        return [row[2:] for row in found if row[2] is not None], known.total

    def _unannounced(self, filters: Mapping[str, Any]) -> bool:
        return any(filters.get(name) in values for name, values in self._listing.unannounced.items())

    def _make_sql(self, used: tuple[str, ...]) -> str:
        listing = self._listing
        where = ["workspace_id = $1", *(listing.conditions[name].format(f"${n}") for n, name in enumerate(used, 2))]
        source = f"FROM {listing.table} WHERE {' AND '.join(where)}"
        # Without a filter, the order of an index keeps the plan, which is made for the average workspace and kept for
        # all, from reading the whole table.
        counted = source if used else f"FROM (SELECT {source} {_NEWEST_FIRST}) in_order"
        return _page_sql(listing.columns, source, counted, len(used))


def _page_sql(columns: str, source: str, counted: str, taken: int) -> str:
    limit, offset, snapshot, total, kinds, first, end = (f"${taken + place}" for place in range(2, 9))
    # ORDER BY xact holds the planner to the index of workspace, kind and xact: it takes the primary key for as cheap,
    # which would read all events of the day. What is restored from a dump may have a later
    # xact than this server has come to: no change that is still to be seen.
    # Beyond the last page the limit is 0, so that nothing is skipped row by row. Materialized: else the count,
    # which is asked for twice, would be made twice.
    return f"""
    WITH counted AS MATERIALIZED (
        SELECT pg_current_snapshot()::text, CASE WHEN {snapshot}::text IS NULL OR EXISTS (
            SELECT 1 FROM unnest({kinds}::text[]) AS changing (kind) CROSS JOIN LATERAL (
                SELECT 1 FROM outbox_event
                WHERE workspace_id = $1 AND kind = changing.kind AND id >= {first}::text AND id < {end}::text
                  AND xact >= pg_snapshot_xmin({snapshot}::text::pg_snapshot)
                  AND xact < pg_snapshot_xmax(pg_current_snapshot())
                  AND NOT pg_visible_in_snapshot(xact, {snapshot}::text::pg_snapshot)
                ORDER BY xact LIMIT 1
            ) unseen
        ) THEN (SELECT count(*) {counted}) END AS count
    ) SELECT counted.*, page.* FROM counted LEFT JOIN LATERAL (
        SELECT {columns} {source} {_NEWEST_FIRST}
        LIMIT CASE WHEN {offset} < coalesce(counted.count, {total}) THEN {limit} ELSE 0 END OFFSET {offset}
    ) page ON true"""
