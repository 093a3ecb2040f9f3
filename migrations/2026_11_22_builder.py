"""The builder: a draft has a revision, what it was before can be brought back."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-22T14:01:00:000000"
VERSION = "1.46.0"
DESCRIPTION = "builder"

UP = """
ALTER TABLE bot
    ADD COLUMN description text NOT NULL DEFAULT '',
    ADD COLUMN draft_revision integer NOT NULL DEFAULT 0,
    ADD COLUMN draft_saved_by text, -- null: not on a screen
    ADD COLUMN draft_authors json NOT NULL DEFAULT '{}', -- who changed a step last, by its id
    ADD COLUMN draft_undo text[] NOT NULL DEFAULT '{}', -- what the draft was before, the latest last
    ADD COLUMN draft_redo text[] NOT NULL DEFAULT '{}'; -- what was taken back, the latest last
"""

DOWN = """
ALTER TABLE bot DROP COLUMN description, DROP COLUMN draft_revision, DROP COLUMN draft_saved_by,
    DROP COLUMN draft_authors, DROP COLUMN draft_undo, DROP COLUMN draft_redo;
"""


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
