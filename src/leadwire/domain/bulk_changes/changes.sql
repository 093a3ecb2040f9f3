-- end
-- What has ended keeps neither who was looked for nor what was written: an erasure would have to find it.
UPDATE bulk_change SET state = :state, query = '', ids = NULL, updated_at = :now,
    value = CASE WHEN value IS NOT NULL THEN '' END
WHERE workspace_id = :workspace AND id = :bulk_id AND state = 'running' RETURNING true
