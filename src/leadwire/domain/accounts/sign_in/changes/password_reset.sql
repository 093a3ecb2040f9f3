-- owner: whose address it is, unless their workspace is suspended or they sign in by single sign-on
SELECT u.id, u.workspace_id FROM user_account u JOIN workspace w ON w.id = u.workspace_id
WHERE lower(u.email) = :email AND w.suspended_at IS NULL AND (u.break_glass OR NOT w.sso_enforced)

-- find: what a link is for
SELECT u.id, u.email, u.workspace_id, w.suspended_at IS NOT NULL AS suspended FROM password_reset r
JOIN user_account u ON u.id = r.user_id JOIN workspace w ON w.id = u.workspace_id
WHERE r.hash = :hash AND r.expires_at > :now AND (u.break_glass OR NOT w.sso_enforced)
