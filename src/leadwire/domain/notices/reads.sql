-- chosen
SELECT kinds FROM notice_choice WHERE workspace_id = :workspace AND user_id = :user_id

-- addresses
SELECT id, service, host, kinds, error, stopped_at FROM notice_address WHERE workspace_id = :workspace ORDER BY id

-- name
SELECT name FROM workspace WHERE id = :workspace

-- recipients
-- The people of a workspace who are told of a kind.
SELECT u.id, u.email_address AS email, w.name AS workspace FROM user_account u JOIN workspace w ON w.id = u.workspace_id
LEFT JOIN notice_choice c ON c.user_id = u.id
WHERE u.workspace_id = :workspace AND u.role = ANY(:roles::text[])
  AND CASE WHEN c.user_id IS NULL THEN u.role = ANY(:defaults::text[]) ELSE :kind = ANY(c.kinds) END
ORDER BY u.id
