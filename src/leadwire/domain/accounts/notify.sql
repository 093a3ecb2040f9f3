-- {people}
SELECT u.id, u.workspace_id, l.email, w.name
FROM login l JOIN user_account u ON u.login_id = l.id JOIN workspace w ON w.id = u.workspace_id

-- account: whom a mail about a login is for, and the account that it goes with: one that is in use, if there is one
{people} WHERE l.id = :login ORDER BY w.suspended_at IS NOT NULL, u.created_at, u.id LIMIT 1

-- admins
{people} WHERE w.id = :workspace AND u.role = 'admin' ORDER BY u.id FOR KEY SHARE OF u
