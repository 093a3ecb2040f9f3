"""Where the queued deliveries of an endpoint begin, so that their count does not read what was sent before."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-23T20:00:00:000000"
VERSION = "1.46.0"
DESCRIPTION = "queued_from"

# Of what admission has queued; a version before knows nothing of it, and the whole queue is read now and then.
UP = """ALTER TABLE webhook_endpoint ADD COLUMN queued_from text COLLATE "C" NOT NULL DEFAULT ''"""
DOWN = "ALTER TABLE webhook_endpoint DROP COLUMN queued_from"


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
