"""Deliveries keep the time of their retry while they are behind another of their subject."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-23T01:30:00:000000"
VERSION = "1.46.0"
DESCRIPTION = "retry times"

UP = "ALTER TABLE delivery ADD COLUMN retry_at timestamptz"

DOWN = "ALTER TABLE delivery DROP COLUMN retry_at"


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
