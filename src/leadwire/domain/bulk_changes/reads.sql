-- running
SELECT id, kind, done, user_id FROM bulk_change WHERE workspace_id = :workspace AND state = 'running'
ORDER BY created_at DESC, id DESC LIMIT 5

-- one
SELECT * FROM bulk_change WHERE workspace_id = :workspace AND id = :bulk_id
