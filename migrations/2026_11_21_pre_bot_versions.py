"""What bots need to talk: versions of their flow, the visitor's side of a conversation, reasons of scores, an inbox."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-21T04:10:00:000000"
VERSION = "1.38.0"
DESCRIPTION = "bot versions, visits, the inbox"

UP = """
ALTER TABLE bot
    ADD draft text,
    ADD draft_saved_at timestamptz(3),
    ADD published_version integer,
    ADD allowed_origins text[] NOT NULL DEFAULT '{}',
    ADD color text NOT NULL DEFAULT '#4f46e5';

CREATE TABLE bot_version (
    bot_id text COLLATE "C" NOT NULL REFERENCES bot ON DELETE CASCADE,
    version integer NOT NULL,
    workspace_id text COLLATE "C" NOT NULL,
    source text NOT NULL,
    created_at timestamptz(3) NOT NULL,
    PRIMARY KEY (bot_id, version)
);
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE 'a published version never changes'; END $$;
CREATE TRIGGER bot_version_is_final BEFORE UPDATE ON bot_version FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TABLE faq_entry (
    id text COLLATE "C" PRIMARY KEY,
    workspace_id text COLLATE "C" NOT NULL,
    bot_id text COLLATE "C" NOT NULL REFERENCES bot ON DELETE CASCADE,
    question text NOT NULL,
    answer text NOT NULL,
    search tsvector NOT NULL,
    created_at timestamptz(3) NOT NULL
);
CREATE INDEX faq_entry_bot ON faq_entry (workspace_id, bot_id, created_at);
CREATE INDEX faq_entry_search ON faq_entry USING gin (search);

CREATE TABLE visit (
    conversation_id text COLLATE "C" PRIMARY KEY REFERENCES conversation ON DELETE CASCADE,
    workspace_id text COLLATE "C" NOT NULL,
    bot_id text COLLATE "C" NOT NULL,
    token_hash bytea NOT NULL UNIQUE,
    start_key bytea NOT NULL UNIQUE,
    address bytea,
    state json NOT NULL,
    nudge_minutes integer,
    inactivity_minutes integer NOT NULL,
    nudged_at timestamptz(3),
    started_at timestamptz(3) NOT NULL
);

CREATE TABLE score_entry (
    conversation_id text COLLATE "C" NOT NULL REFERENCES conversation ON DELETE CASCADE,
    node text NOT NULL,
    label text NOT NULL,
    workspace_id text COLLATE "C" NOT NULL,
    points integer NOT NULL,
    created_at timestamptz(3) NOT NULL,
    PRIMARY KEY (conversation_id, node, label)
);

ALTER TABLE conversation
    ADD assigned_to text COLLATE "C" REFERENCES user_account ON DELETE SET NULL,
    ADD assigned_at timestamptz(3);
CREATE INDEX conversation_open ON conversation (updated_at) WHERE status <> 'ended';

ALTER TABLE message ADD user_id text COLLATE "C";

CREATE TABLE conversation_note (
    id text COLLATE "C" PRIMARY KEY,
    workspace_id text COLLATE "C" NOT NULL,
    conversation_id text COLLATE "C" NOT NULL REFERENCES conversation ON DELETE CASCADE,
    user_id text COLLATE "C" NOT NULL,
    content text NOT NULL,
    created_at timestamptz(3) NOT NULL
);
CREATE INDEX conversation_note_conversation ON conversation_note (conversation_id, created_at);

CREATE TABLE blocked_visitor (
    workspace_id text COLLATE "C" NOT NULL REFERENCES workspace,
    address bytea NOT NULL,
    conversation_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    created_at timestamptz(3) NOT NULL,
    PRIMARY KEY (workspace_id, address)
);
"""

DOWN = """
DROP TABLE blocked_visitor, conversation_note, score_entry, visit, faq_entry, bot_version;
DROP FUNCTION refuse_change;
ALTER TABLE message DROP user_id;
DROP INDEX conversation_open;
ALTER TABLE conversation DROP assigned_to, DROP assigned_at;
ALTER TABLE bot DROP draft, DROP draft_saved_at, DROP published_version, DROP allowed_origins, DROP color;
"""


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
