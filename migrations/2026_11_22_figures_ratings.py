"""An index for what visitors thought: read alone, however many conversations have no rating."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-22T14:06:01:000000"
VERSION = "1.46.0"
DESCRIPTION = "figures of ratings"

UP = """
CREATE INDEX conversation_rated ON conversation (workspace_id, created_at, bot_id, rating) WHERE rating IS NOT NULL;
"""

DOWN = "DROP INDEX conversation_rated;"


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
