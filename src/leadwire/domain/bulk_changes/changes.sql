-- end
-- What has ended keeps neither who was looked for nor what was written: an erasure would have to find it.
UPDATE bulk_change SET state = :state, query = '', ids = NULL, updated_at = :now,
    value = CASE WHEN value IS NOT NULL THEN '' END
WHERE workspace_id = :workspace AND id = :bulk_id AND state = 'running' RETURNING true

-- begin
INSERT INTO bulk_change (id, workspace_id, user_id, kind, field, value, query, ids, seen_at, state, created_at,
    updated_at)
VALUES (:id, :workspace_id, :user_id, :kind, :field, :value, :query, :ids, :seen_at, 'running', :created_at,
    :updated_at)
