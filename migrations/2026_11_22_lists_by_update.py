"""The order in which leads and conversations last changed, for lists by `updated_at`.

Leads have it in a table of its own. An index with `updated_at` on `lead` would make every change of a lead write to all
of its indexes; now one that changes no indexed column still writes none (HOT), and one row here. Triggers keep it, so
that a process of the version before, and whatever else writes leads, keeps it too. `conversation` is indexed by
`updated_at` already while it is open: its changes write one index more.
"""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-22T12:10:00:000000"
VERSION = "1.38.0"
DESCRIPTION = "lists by update"

UP = """
-- The columns of `lead` that lists by update are filtered by, all in the key: filters are decided inside the index.
CREATE TABLE lead_by_update (
    workspace_id text COLLATE "C" NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    id text COLLATE "C" NOT NULL,
    bot_id text COLLATE "C" NOT NULL,
    score smallint NOT NULL,
    PRIMARY KEY (workspace_id, updated_at, id, bot_id, score)
);

CREATE FUNCTION keep_lead_by_update() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        UPDATE lead_by_update SET updated_at = NEW.updated_at, score = NEW.score
        WHERE workspace_id = OLD.workspace_id AND updated_at = OLD.updated_at AND id = OLD.id;
    ELSIF TG_OP = 'INSERT' THEN
        INSERT INTO lead_by_update VALUES (NEW.workspace_id, NEW.updated_at, NEW.id, NEW.bot_id, NEW.score);
    ELSE
        DELETE FROM lead_by_update
        WHERE workspace_id = OLD.workspace_id AND updated_at = OLD.updated_at AND id = OLD.id;
    END IF;
    RETURN NULL;
END $$;
-- Before the rows are copied: it keeps writers out until all are.
CREATE TRIGGER keep_by_update AFTER INSERT OR UPDATE OF updated_at, score OR DELETE ON lead
    FOR EACH ROW EXECUTE FUNCTION keep_lead_by_update();
INSERT INTO lead_by_update SELECT workspace_id, updated_at, id, bot_id, score FROM lead ORDER BY 1, 2, 3;

CREATE INDEX conversation_updated ON conversation (workspace_id, updated_at, id, bot_id, status);
"""

DOWN = """
DROP INDEX conversation_updated;
DROP TRIGGER keep_by_update ON lead;
DROP FUNCTION keep_lead_by_update;
DROP TABLE lead_by_update;
"""


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
