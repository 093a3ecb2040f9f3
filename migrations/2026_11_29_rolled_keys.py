"""What has taken the place of an API key."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-29T12:00:00:000000"
VERSION = "1.46.0"
DESCRIPTION = "rolled_keys"

UP = 'ALTER TABLE api_key ADD COLUMN successor text COLLATE "C" -- the id of the key that it was rolled to'
DOWN = "ALTER TABLE api_key DROP COLUMN successor"


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
