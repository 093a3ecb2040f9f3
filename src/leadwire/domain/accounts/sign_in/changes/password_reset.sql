-- {open}: an account that a password opens, or one beside which it will open another
FROM user_account u JOIN workspace w ON w.id = u.workspace_id
WHERE u.login_id = l.id AND w.suspended_at IS NULL AND (u.break_glass OR NOT w.sso_enforced OR EXISTS (
    SELECT 1 FROM invitation i WHERE lower(i.email) = lower(l.email) AND i.mailed AND i.expires_at > now()))

-- owners: whose address it is, with the workspaces that they may open: whoever has verified it, else all who say so
SELECT l.id, ARRAY(SELECT u.workspace_id {open} ORDER BY 1) AS workspaces FROM login l
WHERE lower(email) = :email AND EXISTS (SELECT 1 {open}) AND (verified_at IS NOT NULL OR NOT EXISTS (
    SELECT 1 FROM login v WHERE lower(v.email) = :email AND v.verified_at IS NOT NULL)) ORDER BY l.id

-- find: what a link is for
SELECT l.id, l.email, EXISTS (SELECT 1 {open}) AS opens, {workspaces}, NOT EXISTS (SELECT 1 FROM user_account u
    JOIN workspace w ON w.id = u.workspace_id WHERE u.login_id = l.id AND w.suspended_at IS NULL) AS suspended
FROM password_reset r JOIN login l ON l.id = r.user_id WHERE r.hash = :hash AND r.expires_at > :now

-- withdraw
DELETE FROM password_reset WHERE user_id = :login_id

-- add
INSERT INTO password_reset (user_id, hash, expires_at) VALUES (:user_id, :hash, :expires_at)
ON CONFLICT (user_id) DO UPDATE SET hash = excluded.hash, expires_at = excluded.expires_at

-- use
DELETE FROM password_reset WHERE hash = :hash RETURNING user_id
