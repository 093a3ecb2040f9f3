"""What visitors were asked to consent to, and what they answered."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-22T10:50:00:000000"
VERSION = "1.38.0"
DESCRIPTION = "consents"

UP = """
-- It goes with its lead, or with its conversation while there is no lead.
CREATE TABLE consent (
    id text COLLATE "C" PRIMARY KEY,
    workspace_id text COLLATE "C" NOT NULL,
    conversation_id text COLLATE "C" REFERENCES conversation ON DELETE CASCADE, -- null: it is no longer kept
    lead_id text COLLATE "C" REFERENCES lead ON DELETE CASCADE, -- null: the visitor has not become one
    bot_id text COLLATE "C" NOT NULL,
    flow_version integer,
    node text NOT NULL,
    text text NOT NULL, -- as the visitor read it
    answer text NOT NULL,
    given boolean NOT NULL, -- false: refused or withdrawn
    user_id text COLLATE "C", -- who recorded a withdrawal; null: the visitor answered the bot
    created_at timestamptz(3) NOT NULL,
    CHECK (conversation_id IS NOT NULL OR lead_id IS NOT NULL)
);
CREATE INDEX consent_workspace ON consent (workspace_id, id); -- for the export of a workspace
CREATE INDEX consent_lead ON consent (lead_id) WHERE lead_id IS NOT NULL;
CREATE INDEX consent_conversation ON consent (conversation_id) WHERE conversation_id IS NOT NULL;
"""

DOWN = "DROP TABLE consent"


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
