"""Who sees the whole instance, as the command line says; and whose invitation makes them one of these."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-23T15:00:00:000000"
VERSION = "1.46.0"
DESCRIPTION = "operators"

UP = """
ALTER TABLE user_account ADD COLUMN operator boolean NOT NULL DEFAULT false;
ALTER TABLE invitation ADD COLUMN operator boolean NOT NULL DEFAULT false
"""
DOWN = """
ALTER TABLE invitation DROP COLUMN operator;
ALTER TABLE user_account DROP COLUMN operator
"""


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
