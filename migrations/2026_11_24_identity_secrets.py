"""What websites sign the identities of their visitors with."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-24T23:20:00:000000"
VERSION = "1.46.0"
DESCRIPTION = "identity_secrets"

UP = "ALTER TABLE bot ADD COLUMN identity_secret bytea;"

DOWN = "ALTER TABLE bot DROP COLUMN identity_secret;"


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
