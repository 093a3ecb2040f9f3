"""Bots that are paused, and bots that are put away."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-24T21:30:00:000000"
VERSION = "1.46.0"
DESCRIPTION = "paused_bots"

# A paused bot has no published version, so that the processes of the version before know it as silent, too.
UP = """
ALTER TABLE bot ADD COLUMN paused_version integer, ADD COLUMN archived_at timestamptz;
"""

DOWN = """
ALTER TABLE bot DROP COLUMN paused_version, DROP COLUMN archived_at;
"""


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
