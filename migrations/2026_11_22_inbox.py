"""The inbox: who has read what, notes with mentions, tags, snoozing, and an end that can be undone.

Lists of the inbox are in the order of their index and stop after some rows, however many conversations are open.
"""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-22T14:04:00:000000"
VERSION = "1.46.0"
DESCRIPTION = "inbox"

UP = """
ALTER TABLE conversation
    ADD COLUMN seen_by_visitor_seq integer NOT NULL DEFAULT 0,
    ADD COLUMN seen_by_agent_seq integer NOT NULL DEFAULT 0,
    ADD COLUMN first_response_at timestamptz(3),
    ADD COLUMN snoozed_until timestamptz(3),
    ADD COLUMN end_due_at timestamptz(3),
    ADD COLUMN tags text[] NOT NULL DEFAULT '{}';
ALTER TABLE conversation_note ADD COLUMN mentions text[] NOT NULL DEFAULT '{}';

CREATE TABLE conversation_read (
    user_id text COLLATE "C" NOT NULL REFERENCES user_account ON DELETE CASCADE,
    conversation_id text COLLATE "C" NOT NULL REFERENCES conversation ON DELETE CASCADE,
    workspace_id text COLLATE "C" NOT NULL,
    seq integer NOT NULL DEFAULT 0,
    mentioned_at timestamptz(3), -- in a note that they have not seen yet
    PRIMARY KEY (user_id, conversation_id)
);
CREATE INDEX conversation_read_conversation ON conversation_read (conversation_id);
CREATE INDEX conversation_read_mentioned ON conversation_read (user_id, mentioned_at) WHERE mentioned_at IS NOT NULL;

-- Who waits, the longest wait first; what each operator has, the latest change first.
CREATE INDEX conversation_unassigned ON conversation (workspace_id, handoff_requested_at, id, bot_id)
    WHERE status = 'handoff' AND assigned_to IS NULL;
CREATE INDEX conversation_held ON conversation (workspace_id, assigned_to, updated_at DESC, id DESC, bot_id)
    WHERE status = 'handoff' AND assigned_to IS NOT NULL;
CREATE INDEX conversation_due ON conversation (least(snoozed_until, end_due_at))
    WHERE snoozed_until IS NOT NULL OR end_due_at IS NOT NULL;
CREATE INDEX conversation_tags ON conversation USING gin (tags) WHERE tags <> '{}';
"""

DOWN = """
DROP INDEX conversation_unassigned, conversation_held, conversation_due, conversation_tags;
DROP TABLE conversation_read;
ALTER TABLE conversation_note DROP COLUMN mentions;
ALTER TABLE conversation DROP COLUMN seen_by_visitor_seq, DROP COLUMN seen_by_agent_seq,
    DROP COLUMN first_response_at, DROP COLUMN snoozed_until, DROP COLUMN end_due_at, DROP COLUMN tags;
"""


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
