"""What people are told by mail: who chose what, and what they were told last."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-22T11:20:00:000000"
VERSION = "1.38.0"
DESCRIPTION = "notices"

UP = """
CREATE TABLE notice_choice (
    user_id text COLLATE "C" PRIMARY KEY REFERENCES user_account ON DELETE CASCADE,
    workspace_id text COLLATE "C" NOT NULL REFERENCES workspace ON DELETE CASCADE,
    kinds text[] NOT NULL
);
CREATE INDEX notice_choice_workspace ON notice_choice (workspace_id, user_id);

CREATE TABLE notice (
    workspace_id text COLLATE "C" NOT NULL REFERENCES workspace ON DELETE CASCADE,
    kind text NOT NULL CHECK (kind IN ('endpoints', 'dead_letters', 'waiting')),
    subject text COLLATE "C" NOT NULL, -- what it was about; '': the workspace's last mail of this kind
    state text,
    at timestamptz NOT NULL,
    before timestamptz, -- of the last mail: when the one before it was
    PRIMARY KEY (kind, workspace_id, subject)
);
CREATE INDEX notice_workspace ON notice (workspace_id);

CREATE INDEX webhook_endpoint_failing ON webhook_endpoint (workspace_id)
    WHERE failing_since IS NOT NULL OR disabled_reason IN ('gone', 'failing');
CREATE INDEX conversation_waiting ON conversation (handoff_requested_at)
    WHERE status = 'handoff' AND assigned_to IS NULL;
"""

DOWN = """
DROP INDEX webhook_endpoint_failing, conversation_waiting;
DROP TABLE notice, notice_choice;
"""


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
