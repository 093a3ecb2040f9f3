"""A server begins one epoch; what was recorded before the first needs no row."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-22T05:30:00:000000"
VERSION = "1.38.0"
DESCRIPTION = "epochs by server"

UP = """
DELETE FROM epoch WHERE server = '';
ALTER TABLE epoch DROP CONSTRAINT epoch_pkey, ADD PRIMARY KEY (server);
"""

DOWN = """
ALTER TABLE epoch DROP CONSTRAINT epoch_pkey, ADD PRIMARY KEY (first_position);
INSERT INTO epoch (first_position, server) VALUES (0, '');
"""


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
