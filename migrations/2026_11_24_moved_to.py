"""Workspaces that have gone to another installation: where."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-24T06:00:00:000000"
VERSION = "1.46.0"
DESCRIPTION = "moved_to"

UP = """
ALTER TABLE workspace ADD COLUMN moved_to text; -- empty: to one whose address is not known
"""

DOWN = """
ALTER TABLE workspace DROP COLUMN moved_to;
"""


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
