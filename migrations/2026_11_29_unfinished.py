"""What is unfinished at an endpoint, by its events: a list of it has pages."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-29T22:00:00:000000"
VERSION = "1.46.0"
DESCRIPTION = "unfinished"

UP = "CREATE INDEX delivery_waiting_by_event ON delivery (endpoint_id, event_id) WHERE state = 'waiting'"
DOWN = "DROP INDEX delivery_waiting_by_event"


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
