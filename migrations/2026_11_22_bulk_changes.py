"""Changes of many leads stop when whoever began them may not go on, and keep no value once they have ended."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-22T17:02:01:000000"
VERSION = "1.46.0"
DESCRIPTION = "bulk changes"

UP = """
ALTER TABLE bulk_change DROP CONSTRAINT bulk_change_state_check,
    ADD CONSTRAINT bulk_change_state_check CHECK (state IN ('running', 'finished', 'cancelled', 'stopped'));
UPDATE bulk_change SET value = '' WHERE state <> 'running' AND value <> '';
"""

DOWN = """
UPDATE bulk_change SET state = 'cancelled' WHERE state = 'stopped';
ALTER TABLE bulk_change DROP CONSTRAINT bulk_change_state_check,
    ADD CONSTRAINT bulk_change_state_check CHECK (state IN ('running', 'finished', 'cancelled'));
"""


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
