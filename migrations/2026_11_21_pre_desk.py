"""The desk: who has the inbox open, and what is said often."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-21T12:45:00:000000"
VERSION = "1.38.0"
DESCRIPTION = "the desk"

UP = """
ALTER TABLE user_session ADD COLUMN present_at timestamptz(3);

CREATE TABLE saved_reply (
    id text COLLATE "C" PRIMARY KEY,
    workspace_id text COLLATE "C" NOT NULL REFERENCES workspace ON DELETE CASCADE,
    name text NOT NULL,
    content text NOT NULL,
    created_at timestamptz(3) NOT NULL
);
CREATE UNIQUE INDEX saved_reply_name ON saved_reply (workspace_id, lower(name));
"""

DOWN = """
DROP TABLE saved_reply;
ALTER TABLE user_session DROP COLUMN present_at;
"""


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
