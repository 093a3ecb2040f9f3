-- choose: remember the columns of a person, which are kept under no name
INSERT INTO lead_view (id, workspace_id, user_id, name, query, columns, created_at)
VALUES (:id, :workspace, :user_id, '', '', :columns, :now)
ON CONFLICT (workspace_id, coalesce(user_id, ''), lower(name)) DO UPDATE SET columns = excluded.columns

-- count: the views of a person, or of everybody
SELECT count(*) FROM lead_view WHERE workspace_id = :workspace AND user_id IS NOT DISTINCT FROM :user_id

-- remove
DELETE FROM lead_view WHERE workspace_id = :workspace AND id = :view_id
  AND (user_id = :user_id OR (user_id IS NULL AND :shared::bool)) RETURNING name
