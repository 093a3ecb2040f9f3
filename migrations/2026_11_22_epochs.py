"""The table of `delivery/epochs.py`: which events were recorded on which server."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-22T05:00:00:000000"
VERSION = "1.38.0"
DESCRIPTION = "epochs"

UP = """
CREATE TABLE epoch (
    first_position bigint PRIMARY KEY, -- of its events; they come before those of the next epoch
    server text NOT NULL, -- empty: of the time before this was noted
    last_event text COLLATE "C", -- the newest that was there when it began
    started_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
INSERT INTO epoch (first_position, server) VALUES (0, '');
"""

DOWN = "DROP TABLE epoch"


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
