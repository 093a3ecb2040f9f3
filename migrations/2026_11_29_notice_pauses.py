"""When a message to Slack or Teams is tried next, in the row of its address."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-29T22:30:00:000000"
VERSION = "1.46.0"
DESCRIPTION = "notice_pauses"

UP = """
ALTER TABLE notice_address ADD COLUMN failed smallint NOT NULL DEFAULT 0, -- attempts of the first message that waits
    ADD COLUMN due_at timestamptz -- when the next one is due; null: at once
"""
DOWN = "ALTER TABLE notice_address DROP COLUMN failed, DROP COLUMN due_at"


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
