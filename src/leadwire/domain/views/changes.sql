-- choose: choose columns; they are kept under no name
INSERT INTO lead_view (id, workspace_id, user_id, name, query, columns, created_at)
VALUES (:id, :workspace, :user_id, '', '', :columns, :now)
ON CONFLICT (workspace_id, coalesce(user_id, ''), lower(name)) DO UPDATE SET columns = excluded.columns

-- save: save a view, unless there are as many as there may be
INSERT INTO lead_view (id, workspace_id, user_id, name, query, columns, created_at)
SELECT :id, :workspace, :user_id, :name, :query, :columns, :now
WHERE (SELECT count(*) FROM lead_view WHERE workspace_id = :workspace AND user_id IS NOT DISTINCT FROM :user_id) < :most
RETURNING id

-- remove: remove a view of a person, or one of everybody
DELETE FROM lead_view WHERE workspace_id = :workspace AND id = :id
  AND (user_id = :user_id OR (user_id IS NULL AND :shared)) RETURNING name
