"""Conversations in numbers, each from one index."""

from datetime import date, datetime

from leadwire.infrastructure import db


async def by_day(workspace: str, since: datetime, bot_id: str | None = None) -> dict[date, int]:
    """How many conversations began on each day (UTC) since then; days without any are left out."""
    found = await db.rows(
        f"""SELECT created_at::date, count(*) FROM conversation
            WHERE workspace_id = $1 AND created_at >= $2 {_of(bot_id)} GROUP BY 1""",
        *_given(workspace, since, bot_id),
    )
    return {row[0]: row[1] for row in found}


async def handed_off(workspace: str, since: datetime, bot_id: str | None = None) -> int:
    """In how many conversations that began since then a person was asked for."""
    return await db.value(  # type: ignore[no-any-return]
        f"""SELECT count(*) FROM conversation
            WHERE workspace_id = $1 AND created_at >= $2 {_of(bot_id)} AND handoff_requested_at IS NOT NULL""",
        *_given(workspace, since, bot_id),
    )


def _of(bot_id: str | None) -> str:
    return "AND bot_id = $3" if bot_id else ""


def _given(workspace: str, since: datetime, bot_id: str | None) -> tuple[object, ...]:
    return (workspace, since, bot_id) if bot_id else (workspace, since)
