"""What the people of a workspace are called."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-24T22:20:00:000000"
VERSION = "1.46.0"
DESCRIPTION = "names"

UP = """
ALTER TABLE user_account ADD COLUMN name text; -- null: only the address is known
"""

DOWN = """
ALTER TABLE user_account DROP COLUMN name;
"""


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
