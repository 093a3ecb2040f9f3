"""Search: what each conversation, note and lead is found by, and which of them have changed since that was written.

Triggers note what has changed, so that processes of the version before and whatever else writes are seen as well; the
relay writes the documents. What is deleted leaves its document at once, under the lock by which documents are written
(see decision 26).
"""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-22T14:05:00:000000"
VERSION = "1.46.0"
DESCRIPTION = "search"

UP = """
CREATE TABLE search_document (
    id text COLLATE "C" PRIMARY KEY, -- of the conversation, note or lead
    workspace_id text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL CHECK (kind IN ('conversation', 'note', 'lead')),
    created_at timestamptz(3) NOT NULL, -- when the conversation, note or lead was made
    lexemes tsvector NOT NULL -- words, parts of names, and marks: see domain/search/documents.py
);
CREATE INDEX search_document_newest ON search_document (workspace_id, kind, created_at DESC, id DESC);
CREATE INDEX search_document_lexemes ON search_document USING gin (lexemes);

-- A row is added with each change and taken away by the relay: nobody waits for another's row.
CREATE TABLE search_due (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    workspace_id text COLLATE "C" NOT NULL,
    subject text COLLATE "C" NOT NULL -- the id of the conversation, note or lead
);

CREATE FUNCTION note_search_due() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO search_due (workspace_id, subject) VALUES (NEW.workspace_id, NEW.id);
    RETURN NULL;
END $$;
CREATE FUNCTION forget_search_document() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('search ' || OLD.workspace_id, 0));
    DELETE FROM search_document WHERE id = OLD.id;
    RETURN NULL;
END $$;

CREATE TRIGGER search_added AFTER INSERT ON conversation FOR EACH ROW EXECUTE FUNCTION note_search_due();
CREATE TRIGGER search_changed AFTER UPDATE ON conversation FOR EACH ROW
    WHEN ((OLD.updated_at, OLD.status, OLD.tags) IS DISTINCT FROM (NEW.updated_at, NEW.status, NEW.tags))
    EXECUTE FUNCTION note_search_due();
CREATE TRIGGER search_removed AFTER DELETE ON conversation FOR EACH ROW EXECUTE FUNCTION forget_search_document();
CREATE TRIGGER search_changed AFTER INSERT OR UPDATE OF content ON conversation_note
    FOR EACH ROW EXECUTE FUNCTION note_search_due();
CREATE TRIGGER search_removed AFTER DELETE ON conversation_note FOR EACH ROW EXECUTE FUNCTION forget_search_document();
CREATE TRIGGER search_added AFTER INSERT ON lead FOR EACH ROW EXECUTE FUNCTION note_search_due();
CREATE TRIGGER search_changed AFTER UPDATE ON lead FOR EACH ROW
    WHEN ((OLD.name, OLD.email, OLD.phone, OLD.company, OLD.custom_fields::text)
        IS DISTINCT FROM (NEW.name, NEW.email, NEW.phone, NEW.company, NEW.custom_fields::text))
    EXECUTE FUNCTION note_search_due();
CREATE TRIGGER search_removed AFTER DELETE ON lead FOR EACH ROW EXECUTE FUNCTION forget_search_document();

-- The relay takes the highest numbers first: the newest are found first.
INSERT INTO search_due (workspace_id, subject) SELECT workspace_id, id FROM conversation_note ORDER BY created_at;
INSERT INTO search_due (workspace_id, subject) SELECT workspace_id, id FROM lead ORDER BY created_at;
INSERT INTO search_due (workspace_id, subject) SELECT workspace_id, id FROM conversation ORDER BY created_at;
"""

DOWN = """
DROP TRIGGER search_added ON conversation;
DROP TRIGGER search_changed ON conversation;
DROP TRIGGER search_removed ON conversation;
DROP TRIGGER search_changed ON conversation_note;
DROP TRIGGER search_removed ON conversation_note;
DROP TRIGGER search_added ON lead;
DROP TRIGGER search_changed ON lead;
DROP TRIGGER search_removed ON lead;
DROP FUNCTION note_search_due, forget_search_document;
DROP TABLE search_due, search_document;
"""


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
