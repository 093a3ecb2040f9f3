"""The views that a person has."""

from typing import Final

from leadwire.infrastructure import db
from leadwire.infrastructure.db.statements import sql

# Their own, those of everybody, and the columns they see without one (no name).
_VIEWS: Final = sql("""
SELECT id, user_id, name, query, columns FROM lead_view
WHERE workspace_id = :workspace AND (user_id = :user_id OR user_id IS NULL) ORDER BY lower(name), id""")


async def views(workspace: str, user_id: str) -> tuple[list[db.Row], list[str]]:
    """Return the views that a person has, by name, and the columns they see without one."""
    rows = await _VIEWS.rows(workspace=workspace, user_id=user_id)
    return [row for row in rows if row["name"]], next((row["columns"] for row in rows if not row["name"]), [])
