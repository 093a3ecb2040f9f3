"""Who is at the desk: an inbox that is open says so once a minute, whether its owner clicks or not."""

from datetime import timedelta
from typing import Final

from leadwire.infrastructure import clock, db

EVERY: Final = 60.0  # seconds
_GONE: Final = timedelta(seconds=150)


async def note(session_id: str) -> None:
    """This session has the inbox open just now."""
    await db.rows("UPDATE user_session SET present_at = $2 WHERE id = $1", session_id, clock.now())


async def anybody(workspace: str) -> bool:
    """Whether somebody who may answer visitors has the inbox open."""
    found = await db.value(
        """SELECT EXISTS (SELECT 1 FROM user_account u JOIN user_session s ON s.user_id = u.id
           WHERE u.workspace_id = $1 AND u.role IN ('admin', 'agent') AND s.present_at > $2)""",
        workspace, clock.now() - _GONE,
    )  # fmt: skip
    return bool(found)
