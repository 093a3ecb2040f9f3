"""Jobs that have failed are found without reading the others, of which there may be a million."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-23T07:10:00:000000"
VERSION = "1.46.0"
DESCRIPTION = "jobs tried"

UP = "CREATE INDEX job_tried ON job (kind, since) WHERE tries > 0"
DOWN = "DROP INDEX job_tried"


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
