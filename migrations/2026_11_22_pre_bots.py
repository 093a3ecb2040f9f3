"""The tables of `domain/bots`: bots, their published versions and FAQ.

Those that belong to a conversation (`visit`, `score_entry`, `blocked_visitor`) are made with the conversations.
"""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-22T00:02:00:000000"
VERSION = "1.38.0"
DESCRIPTION = "bots"

UP = """
CREATE TABLE bot (
    id text COLLATE "C" PRIMARY KEY,
    workspace_id text COLLATE "C" NOT NULL REFERENCES workspace,
    name text NOT NULL,
    created_at timestamptz(3) NOT NULL,
    draft text, -- a flow as its author wrote it, TOML or JSON
    draft_saved_at timestamptz(3),
    published_version integer, -- what new conversations run; null: the bot does not answer
    allowed_origins text[] NOT NULL DEFAULT '{}', -- websites that may embed it; * = any
    color text NOT NULL DEFAULT '#4f46e5'
);
CREATE INDEX bot_workspace ON bot (workspace_id, created_at);

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
"""

DOWN = """
DROP TABLE faq_entry, bot_version, bot;
DROP FUNCTION refuse_change;
"""


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
