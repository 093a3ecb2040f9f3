"""The second factor of people who sign in."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-21T12:20:00:000000"
VERSION = "1.38.0"
DESCRIPTION = "the second factor"

UP = "ALTER TABLE user_account ADD COLUMN totp_secret bytea, ADD COLUMN totp_step bigint"
DOWN = "ALTER TABLE user_account DROP COLUMN totp_secret, DROP COLUMN totp_step"


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
