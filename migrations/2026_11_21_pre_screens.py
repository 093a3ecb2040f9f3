"""What the screens read by: conversations that asked for a person, and leads by score in one direction throughout.

With `score DESC, created_at DESC, id DESC` one comparison of rows continues a list sorted by score; the index it
replaces ran in two directions.
"""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-21T08:20:00:000000"
VERSION = "1.38.0"
DESCRIPTION = "the screens"

UP = """
CREATE INDEX conversation_handoff ON conversation (workspace_id, created_at, bot_id)
    WHERE handoff_requested_at IS NOT NULL;
DROP INDEX lead_score;
CREATE INDEX lead_score ON lead (workspace_id, score, created_at, id);
"""

DOWN = """
DROP INDEX conversation_handoff, lead_score;
CREATE INDEX lead_score ON lead (workspace_id, score, created_at DESC, id DESC);
"""


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
