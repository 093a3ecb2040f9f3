"""Who published a version of a bot, and what they said about it."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-27T01:00:00:000000"
VERSION = "1.46.0"
DESCRIPTION = "version_notes"

UP = """
ALTER TABLE bot_version ADD COLUMN published_by text, -- null: not on a screen
    ADD COLUMN note text
"""
DOWN = """
ALTER TABLE bot_version DROP COLUMN published_by, DROP COLUMN note
"""


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
