"""Events whose deliveries cannot be made are set aside, so that they hold up no others."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-23T03:10:00:000000"
VERSION = "1.46.0"
DESCRIPTION = "outbox_aside"

UP = """
ALTER TABLE outbox
    ADD COLUMN set_aside_at timestamptz, -- until an operator releases it
    ADD COLUMN error text; -- the last one
"""

DOWN = "ALTER TABLE outbox DROP COLUMN set_aside_at, DROP COLUMN error"


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
