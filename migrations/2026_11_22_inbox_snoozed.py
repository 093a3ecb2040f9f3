"""The conversations that an operator has snoozed, the first to come back first."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-22T14:04:01:000000"
VERSION = "1.46.0"
DESCRIPTION = "snoozed conversations"

UP = "CREATE INDEX conversation_snoozed ON conversation (assigned_to, snoozed_until) WHERE snoozed_until IS NOT NULL"
DOWN = "DROP INDEX conversation_snoozed"


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
