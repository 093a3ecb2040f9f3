"""When a retry that waits behind another delivery is due at the earliest."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-23T22:00:00:000000"
VERSION = "1.46.0"
DESCRIPTION = "retry_at"

UP = "ALTER TABLE delivery ADD COLUMN retry_at timestamptz"
DOWN = "ALTER TABLE delivery DROP COLUMN retry_at"


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
