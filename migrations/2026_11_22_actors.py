"""Who made the change that an event is about: beside the event, not in what is sent."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-22T14:05:02:000000"
VERSION = "1.46.0"
DESCRIPTION = "actors"

UP = 'ALTER TABLE event ADD COLUMN actor text COLLATE "C"'  # a user's id, an API key's, or visitor
DOWN = "ALTER TABLE event DROP COLUMN actor"


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
