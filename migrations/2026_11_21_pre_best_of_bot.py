"""The best leads of one bot, decided inside the index: a bot with few leads among many is no walk through all rows."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

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
    return migration(ID, DESCRIPTION, UP, DOWN)
