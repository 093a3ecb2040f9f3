"""The views that a person has."""

from leadwire.infrastructure import db
from leadwire.infrastructure.db.statements import named

(_VIEWS,) = named(__file__, "views")


async def views(workspace: str, user_id: str) -> tuple[list[db.Row], list[str]]:
    """Return the views that a person has, by name, and the columns they see without one."""
    rows = await _VIEWS.rows(workspace=workspace, user_id=user_id)
    return [row for row in rows if row["name"]], next((row["columns"] for row in rows if not row["name"]), [])
