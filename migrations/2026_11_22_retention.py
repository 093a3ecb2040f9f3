"""How long a workspace keeps what, and the indexes by which what is older is found."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-22T10:55:00:000000"
VERSION = "1.38.0"
DESCRIPTION = "retention"

UP = """
CREATE TABLE retention (
    workspace_id text COLLATE "C" NOT NULL REFERENCES workspace ON DELETE CASCADE,
    kind text NOT NULL CHECK (kind IN ('conversations', 'lead_conversations', 'leads', 'messages', 'events')),
    days integer NOT NULL CHECK (days >= 1),
    -- How far the sweep has come; of leads, in the present round.
    after_time timestamptz(3) NOT NULL DEFAULT '1970-01-01Z',
    after_id text COLLATE "C" NOT NULL DEFAULT '',
    removed integer NOT NULL DEFAULT 0, -- in the present round
    swept_at timestamptz(3), -- when the last round ended; null: the setting is new
    PRIMARY KEY (workspace_id, kind)
);
-- Each conversation that has ended is in one of these.
CREATE INDEX conversation_ended ON conversation (workspace_id, ended_at) WHERE ended_at IS NOT NULL AND lead_id IS NULL;
CREATE INDEX conversation_ended_of_lead ON conversation (workspace_id, ended_at)
    WHERE ended_at IS NOT NULL AND lead_id IS NOT NULL;
"""

DOWN = "DROP INDEX conversation_ended_of_lead, conversation_ended; DROP TABLE retention"


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
