"""Statistics of leads: one pass over an index that has every column they need."""

from datetime import date, datetime
from typing import Final

from msgspec import Struct

from leadwire.infrastructure.db.statements import sql

BANDS: Final = 10
"""Scores are counted in bands of ten: 0 to 9, ..., 90 to 100."""


class Captured(Struct, frozen=True):
    """How many leads were captured on one day (UTC) with a score of one band."""

    day: date
    band: int
    leads: int


_CAPTURED: Final = [  # by all bots or one: a text each, so that each gets its own plan
    sql(f"""SELECT created_at::date, least(score / 10, {BANDS - 1}), count(*) FROM lead
            WHERE workspace_id = :workspace AND created_at >= :since {bot} GROUP BY 1, 2""")
    for bot in ("", "AND bot_id = :bot_id")
]


async def captured(workspace: str, since: datetime, bot_id: str | None = None) -> list[Captured]:
    """Return the leads captured since then, by day and band; of one bot or of all."""
    one = {"bot_id": bot_id} if bot_id else {}
    return [Captured(*row) for row in await _CAPTURED[len(one)].rows(workspace=workspace, since=since, **one)]
