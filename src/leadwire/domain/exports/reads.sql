-- stored
SELECT id, kind, format, sent, created_at, expires_at, query, completed_at, canceled_at FROM export_job
WHERE workspace_id = :workspace AND id = :id
