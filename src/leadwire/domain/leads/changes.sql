-- delete
DELETE FROM lead WHERE workspace_id = :workspace AND id = :id
