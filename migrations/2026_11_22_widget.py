"""What visitors thought of a conversation, and how a bot's chat looks on websites."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-22T14:03:00:000000"
VERSION = "1.46.0"
DESCRIPTION = "widget"

UP = """
ALTER TABLE conversation
    ADD COLUMN rating smallint CHECK (rating BETWEEN 1 AND 5), -- the visitor's, once it has ended
    ADD COLUMN rating_comment text;
ALTER TABLE bot ADD COLUMN look json NOT NULL DEFAULT '{}'; -- bots.look.Look
"""

DOWN = """
ALTER TABLE bot DROP COLUMN look;
ALTER TABLE conversation DROP COLUMN rating_comment, DROP COLUMN rating;
"""


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
