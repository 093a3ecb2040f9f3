"""How people answer visitors, and what visitors thought of it: a period beside the one before."""

from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

from leadwire.infrastructure.db.queries import query

MOST: Final = 1000
"""Conversations that response times are of, and of those who wait that are counted: `figures.sql` says so, too."""


class Responses(Struct, frozen=True):
    """Of `asked` conversations that wanted a person `answered` got one: half of these within `median` seconds, nine in
    ten within `most`.
    """

    asked: int
    answered: int
    median: float | None
    most: float | None


class Waiting(Struct, frozen=True):
    """Visitors who wait for a person now, and since when the first does."""

    count: int
    since: datetime | None


@query(AssertionError)
async def responses(workspace: str, bot_id: str | None, since: datetime, until: datetime) -> Responses:
    """Return how soon people answered in conversations that began in a period: of the latest `MOST`."""


@query(AssertionError)
async def waiting(workspace: str, bot_id: str | None) -> Waiting:
    """Return who waits now, of at most `MOST`."""


@query()
async def _ratings(
    workspace: str, bot_id: str | None, since: datetime, before: datetime
) -> list[tuple[int, int, int]]: ...


async def ratings(workspace: str, bot_id: str | None, since: datetime, length: timedelta) -> dict[int, tuple[int, int]]:
    """Return for each rating, 1 to 5, how many conversations got it since a time, and in as long before."""
    counts = {rating: pair for rating, *pair in await _ratings(workspace, bot_id, since, since - length)}
    return {rating: (now, before) for rating in range(5, 0, -1) for now, before in [counts.get(rating, (0, 0))]}
