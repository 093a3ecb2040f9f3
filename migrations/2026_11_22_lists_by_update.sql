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
CREATE TRIGGER keep_by_update AFTER INSERT OR UPDATE OF updated_at, score OR DELETE ON lead
    FOR EACH ROW EXECUTE FUNCTION keep_lead_by_update();

-- A lead that is locked is as it was last committed, and a change of it waits until its row here is, too.
DO $$
DECLARE
    after text := '';
BEGIN
    LOOP
        PERFORM set_config('lock_timeout', '400ms', true);
        WITH batch AS (
            SELECT workspace_id, updated_at, id, bot_id, score FROM lead WHERE id > after ORDER BY id LIMIT 500 FOR SHARE
        ), copied AS (INSERT INTO lead_by_update SELECT * FROM batch ON CONFLICT DO NOTHING)
        SELECT max(id) INTO after FROM batch;
        COMMIT;
        EXIT WHEN after IS NULL;
    END LOOP;
END $$;

CREATE INDEX conversation_updated ON conversation (workspace_id, updated_at, id, bot_id, status);
