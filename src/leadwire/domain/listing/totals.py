"""Exact totals without recounting.

Counting is the real cost of a list. A total is kept with the snapshot it was counted in, and counted again only when
the outbox holds a change of the workspace that this snapshot could not see. That is right because such a change is in
the outbox, in its own transaction: a change that commits later than the count shows itself however long it was open.
What a change without an event can affect is counted every time.
"""

import functools
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec

from leadwire.domain.listing.keyset import Keyset
from leadwire.infrastructure import clock, ids
from leadwire.infrastructure.db.statements import Statement, sql

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


class Totals:
    """The pages and the totals of one list, for this process.

    `kinds` are the events that change how many rows there are; `kinds_when` has further ones for a filter that is used.
    `unannounced` has the values of a filter that rows come to have, or lose, without an event.
    """

    def __init__(
        self,
        keyset: Keyset,
        kinds: Sequence[str],
        kinds_when: Mapping[str, Sequence[str]],
        unannounced: Mapping[str, Collection[str]] | None = None,
    ) -> None:
        self._keyset, self._kinds, self._kinds_when = keyset, kinds, kinds_when
        self._unannounced = unannounced or {}
        self._counts: OrderedDict[tuple[object, ...], _Count] = OrderedDict()
        self._statement = functools.cache(self._build)  # one for each set of filters, so that each gets its own plan

    async def page(self, workspace: str, query: object, limit: int, offset: int) -> tuple[list[Sequence[Any]], int]:
        """Return one page of rows, newest first, and the exact total, in one snapshot and one round trip."""
        used = self._keyset.used(query)
        now = clock.now()
        key = (workspace, *used.items())
        known = self._counts.get(key)
        if known and (
            now - known.taken_at > _FRESH or any(used.get(name) in some for name, some in self._unannounced.items())
        ):
            known = None
        found = await self._statement(tuple(used)).rows(
            workspace=workspace,
            **used,
            limit=limit,
            offset=offset,
            snapshot=known.snapshot if known else None,
            total=known.total if known else None,
            kinds=[*self._kinds, *(kind for name in used for kind in self._kinds_when.get(name, ()))],
            first=ids.floor("evt", (known.taken_at if known else now) - _LONGEST_TRANSACTION),
            end=ids.floor("evt", now + _FARTHEST_CLOCK),
        )
        snapshot, total, *_ = found[0]
        if total is not None:
            known = self._counts[key] = _Count(total, snapshot, now)
        assert known is not None  # noqa: S101 - without a known count the statement counts
        self._counts.move_to_end(key)
        if len(self._counts) > _KEPT:
            self._counts.popitem(last=False)
        return [row[2:] for row in found if row[2] is not None], known.total

    def _build(self, used: tuple[str, ...]) -> Statement:
        source = self._keyset.source(used)
        # Without a filter, the order of an index keeps the plan, which is made for the average workspace and kept for
        # all, from reading the whole table.
        counted = source if used else f"FROM (SELECT {source} {_NEWEST_FIRST}) in_order"
        # A page, and the total unless the outbox has no change that the known snapshot could not see.
        # ORDER BY xact holds the planner to the index of workspace, kind and xact: it takes the
        # primary key for as cheap, which would read all events of the day. What is restored from a dump may have a
        # later xact than this server has come to: no change that is still to be seen.
        # Beyond the last page the limit is 0, so that nothing is skipped row by row. Materialized: else the count,
        # which is asked for twice, would be made twice.
        return sql(f"""
    WITH counted AS MATERIALIZED (
        SELECT pg_current_snapshot()::text, CASE WHEN :snapshot::text IS NULL OR EXISTS (
            SELECT 1 FROM unnest(:kinds::text[]) AS changing (kind) CROSS JOIN LATERAL (
                SELECT 1 FROM event
                WHERE workspace_id = :workspace AND kind = changing.kind AND id >= :first::text AND id < :end::text
                  AND xact >= pg_snapshot_xmin(:snapshot::text::pg_snapshot)
                  AND xact < pg_snapshot_xmax(pg_current_snapshot())
                  AND NOT pg_visible_in_snapshot(xact, :snapshot::text::pg_snapshot)
                ORDER BY xact LIMIT 1
            ) unseen
        ) THEN (SELECT count(*) {counted}) END AS count
    ) SELECT counted.*, page.* FROM counted LEFT JOIN LATERAL (
        SELECT {self._keyset.columns} {source} {_NEWEST_FIRST}
        LIMIT CASE WHEN :offset < coalesce(counted.count, :total) THEN :limit ELSE 0 END OFFSET :offset
    ) page ON true""")
