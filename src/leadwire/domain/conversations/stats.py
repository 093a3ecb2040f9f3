"""Statistics of conversations, each from one index."""

from datetime import date, datetime
from typing import Final

from leadwire.infrastructure.db.statements import sql

_SINCE: Final = "FROM conversation WHERE workspace_id = :workspace AND created_at >= :since"
_OF: Final = ("", "AND bot_id = :bot_id")  # all bots or one: a text each, so that each gets its own plan
_BY_DAY: Final = [sql(f"SELECT created_at::date, count(*) {_SINCE} {bot} GROUP BY 1") for bot in _OF]
_HANDED_OFF: Final = [sql(f"SELECT count(*) {_SINCE} {bot} AND handoff_requested_at IS NOT NULL") for bot in _OF]


async def by_day(workspace: str, since: datetime, bot_id: str | None = None) -> dict[date, int]:
    """Return how many conversations began on each day (UTC) since then; days without any are left out."""
    one = {"bot_id": bot_id} if bot_id else {}
    found = await _BY_DAY[len(one)].rows(workspace=workspace, since=since, **one)
    return {row[0]: row[1] for row in found}


async def handed_off(workspace: str, since: datetime, bot_id: str | None = None) -> int:
    """Return in how many conversations that began since then a person was asked for."""
    one = {"bot_id": bot_id} if bot_id else {}
    return int(await _HANDED_OFF[len(one)].value(workspace=workspace, since=since, **one))
