"""Counts are read by bot: an index by day alone would lead to those of every workspace."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-22T14:06:02:000000"
VERSION = "1.46.0"
DESCRIPTION = "counts by bot"

UP = "DROP INDEX bot_count_old;"

DOWN = "CREATE INDEX bot_count_old ON bot_count (day);"


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
