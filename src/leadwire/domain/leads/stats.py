"""Leads in numbers: one pass over an index that holds all they are made of, however many leads there are."""

from datetime import date, datetime
from typing import Final

from msgspec import Struct

from leadwire.infrastructure import db

BANDS: Final = 10
"""Scores are counted in bands of ten: 0 to 9, ..., 90 to 100."""


class Captured(Struct, frozen=True):
    """How many leads were captured on one day (UTC) with a score of one band."""

    day: date
    band: int
    leads: int


async def captured(workspace: str, since: datetime, bot_id: str | None = None) -> list[Captured]:
    """The leads captured since then, by day and band; of one bot or of all."""
    found = await db.rows(
        f"""SELECT created_at::date, least(score / 10, {BANDS - 1}), count(*) FROM lead
            WHERE workspace_id = $1 AND created_at >= $2 {"AND bot_id = $3" if bot_id else ""} GROUP BY 1, 2""",
        *((workspace, since, bot_id) if bot_id else (workspace, since)),
    )
    return [Captured(*row) for row in found]
