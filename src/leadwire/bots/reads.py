"""Looking bots up."""

from leadwire import db


async def names(workspace: str) -> dict[str, str]:
    """Every bot's id and name, oldest first."""
    found = await db.rows("SELECT id, name FROM bot WHERE workspace_id = $1 ORDER BY created_at, id", workspace)
    return {row["id"]: row["name"] for row in found}
