"""The best leads of one bot, decided inside the index: a bot with few leads among many is no walk through all rows."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.db import DB

ID = "2026-11-21T09:35:00:000000"
VERSION = "1.38.0"
DESCRIPTION = "the best leads of one bot"

UP = """
DROP INDEX lead_score;
CREATE INDEX lead_score ON lead (workspace_id, score, created_at, id, bot_id);
"""

DOWN = """
DROP INDEX lead_score;
CREATE INDEX lead_score ON lead (workspace_id, score, created_at, id);
"""


async def forwards() -> MigrationManager:
    manager = MigrationManager(migration_id=ID, app_name="leadwire", description=DESCRIPTION)

    async def run(sql: str) -> None:
        async with DB.transaction() as transaction:
            await transaction.connection.execute(sql)

    async def up() -> None:
        await run(UP)

    async def down() -> None:
        await run(DOWN)

    manager.add_raw(up)
    manager.add_raw_backwards(down)
    return manager
