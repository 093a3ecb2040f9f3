"""Every change of bots."""

from leadwire import clock, db, ids


async def create(workspace: str, name: str) -> str:
    """A new bot. Answers its id."""
    bot_id = ids.new("bot")
    await db.rows(
        "INSERT INTO bot (id, workspace_id, name, created_at) VALUES ($1, $2, $3, $4)",
        bot_id, workspace, name, clock.now(),
    )  # fmt: skip
    return bot_id
