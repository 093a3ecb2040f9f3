-- missing: the statement of each trigger that is missing
-- A fence stays as it is when a later version comes: what it lets pass is for the function to say.
SELECT format('CREATE TRIGGER %I BEFORE INSERT OR UPDATE ON %s FOR EACH ROW WHEN (NEW.workspace_id = %L)'
    ' EXECUTE FUNCTION refuse_while_moving(%L)', 'move of ' || :workspace, c.oid::regclass, :workspace, :workspace)
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'workspace_id'
WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND pg_table_is_visible(c.oid) AND c.relname <> ALL(:open)
    AND NOT EXISTS (SELECT 1 FROM pg_trigger t WHERE t.tgrelid = c.oid AND t.tgname = 'move of ' || :workspace)
ORDER BY c.relname

-- present: of each that is there
SELECT format('DROP TRIGGER IF EXISTS %I ON %s', tgname, tgrelid::regclass) FROM pg_trigger
WHERE tgname = 'move of ' || :workspace AND tgparentid = 0

-- patience
SELECT set_config('lock_timeout', '2s', true)

-- alone: says who moves, for the session
SELECT pg_advisory_lock(7227, hashtext(:workspace))

-- close: waits for changes that have begun, and refuses those that come, for the session
SELECT pg_advisory_lock(7226, hashtext(:workspace))
