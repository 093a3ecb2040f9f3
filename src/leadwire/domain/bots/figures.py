"""How bots do: from visitors who saw the widget to leads, step by step. Read from counts by day (`changes.counts`), so
however many conversations there are.
"""

from datetime import date, datetime, timedelta
from typing import NamedTuple

from msgspec import Struct

from leadwire.domain.bots.changes.counts import Kind
from leadwire.infrastructure.db.queries import query


@query()
async def _steps(workspace: str, bot_id: str, since: date) -> list[tuple[str, int, int]]: ...


@query()
async def _sums(workspace: str, bot_id: str | None, since: date, before: date) -> list[tuple[Kind, str, int, int]]: ...


@query()
async def _by_bot(workspace: str, since: date) -> list[tuple[str, Kind, int]]: ...


class Pair(NamedTuple):
    """A figure of a period, and of the one before."""

    now: int = 0
    before: int = 0


class StepCount(Struct, frozen=True):
    """Conversations that came to a node, and those of them that came no further: to no other node, no person and not
    to the end.
    """

    entered: int
    left: int


async def steps(workspace: str, bot_id: str, since: datetime) -> dict[str, StepCount]:
    """Return for each node of a bot what became of conversations since a day (UTC), by the node's id."""
    rows = await _steps(workspace, bot_id, since.date())
    return {node: StepCount(entered, max(0, entered - passed)) for node, entered, passed in rows}


async def sums(workspace: str, bot_id: str | None, since: date, days: int) -> dict[Kind, dict[str, Pair]]:
    """Return by kind and name how often something happened in so many days since one, and in as many before.

    Names are in the order of their figures; what has none is of the name "".
    """
    before = since - timedelta(days=days)
    pairs: dict[Kind, dict[str, Pair]] = {}
    for kind, name, *pair in await _sums(workspace, bot_id, since, before):
        pairs.setdefault(kind, {})[name] = Pair(*pair)
    return pairs


async def by_bot(workspace: str, since: date) -> dict[str, dict[Kind, int]]:
    """Return by bot and kind how often something happened since a day."""
    counts: dict[str, dict[Kind, int]] = {}
    for bot_id, kind, total in await _by_bot(workspace, since):
        counts.setdefault(bot_id, {})[kind] = total
    return counts
