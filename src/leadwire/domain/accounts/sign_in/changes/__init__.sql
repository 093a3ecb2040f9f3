-- by_email
-- The logins of an address, a verified one first; whether a password is not enough; the browsers they were used in.
SELECT {workspaces}, id, password_hash, {has_factor} AS code_wanted, known_browsers
FROM login l WHERE lower(email) = :email ORDER BY verified_at, id

-- accounts
-- The accounts of a login, the one that was used last first; and whether one may not be opened now: because its
-- workspace is suspended, or by what is not a provider's.
SELECT u.id, workspace_id, email_address AS email, w.networks, w.suspended_at IS NOT NULL AS suspended,
    w.sso_enforced AND NOT u.break_glass AS barred
FROM user_account u JOIN workspace w ON w.id = u.workspace_id WHERE u.login_id = :login
ORDER BY (SELECT max(s.seen_at) FROM user_session s WHERE s.user_id = u.id) DESC NULLS LAST, u.created_at, u.id

-- still
-- A compare-and-set: while the password was checked, another may have been set, or a second factor.
UPDATE login l SET password_hash = :fresh
WHERE id = :id AND password_hash = :stored AND {has_factor} = :code_wanted RETURNING id
