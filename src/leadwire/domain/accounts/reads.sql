-- key_by_lookup: whose key it is, and what holds for the workspace
SELECT k.id, k.workspace_id, k.scopes, k.expires_at, w.suspended_at IS NOT NULL,
    (w.quotas->>'requests')::int, k.networks, k.hash
FROM api_key k JOIN workspace w ON w.id = k.workspace_id WHERE k.lookup = :lookup AND k.revoked_at IS NULL

-- in_use
SELECT k.networks FROM api_key k JOIN workspace w ON w.id = k.workspace_id WHERE k.id = :key_id AND k.revoked_at IS NULL
    AND (k.expires_at IS NULL OR k.expires_at > :now) AND w.suspended_at IS NULL

-- me: a key and its workspace
SELECT k.id, k.name, k.scopes, w.id, w.name, k.created_at, k.expires_at
FROM api_key k JOIN workspace w ON w.id = k.workspace_id WHERE k.workspace_id = :workspace AND k.id = :key

-- sessions: where a login is used, or one account of it
SELECT s.id, address, agent, seen_at, w.name AS workspace
FROM user_session s JOIN user_account u ON u.id = s.user_id JOIN workspace w ON w.id = u.workspace_id
WHERE u.login_id = :login AND (:only::text IS NULL OR u.id = :only) ORDER BY seen_at DESC, s.id DESC

-- factors
SELECT totp_secret IS NOT NULL AS app, (SELECT count(*) FROM recovery_code r WHERE r.user_id = l.id) AS codes
FROM login l WHERE id = :login_id

-- listed
SELECT id, workspace_id, name, 'lw_' || lookup || '_', scopes, created_at, expires_at, last_used_at, revoked_at, networks
FROM api_key WHERE :workspace::text IS NULL OR workspace_id = :workspace ORDER BY created_at DESC, id DESC

-- users
SELECT id, workspace_id, email_address, role, created_at, operator, name FROM user_account
WHERE :workspace::text IS NULL OR workspace_id = :workspace ORDER BY created_at, id

-- agent
SELECT id, workspace_id, email_address, role, created_at, operator, name FROM user_account
WHERE workspace_id = :workspace AND id = :user_id AND role IN ('admin', 'agent') FOR SHARE

-- passkeys
SELECT id, name, backed_up, created_at, last_used_at FROM passkey WHERE user_id = :login_id ORDER BY created_at, id

-- workspace_list
SELECT id, name, CASE WHEN moved_to IS NOT NULL THEN 'moved' WHEN deletion_began_at IS NOT NULL THEN 'being deleted'
    WHEN move_id IS NOT NULL THEN 'moving' WHEN suspended_at IS NOT NULL THEN 'suspended' ELSE 'active' END AS state, created_at
FROM workspace ORDER BY created_at, id

-- agent_online
-- An open inbox reports every 60 seconds.
SELECT EXISTS (SELECT 1 FROM user_account u JOIN user_session s ON s.user_id = u.id WHERE u.workspace_id = :workspace
    AND u.role IN ('admin', 'agent') AND s.present_at > :now::timestamptz - interval '150 seconds')

-- offer: an invitation that can still be used
-- Without an e-mail address, whoever opens it chooses.
SELECT workspace_id, name AS workspace_name, email, role, sso_enforced, mailed
FROM invitation i JOIN workspace w ON w.id = i.workspace_id WHERE i.hash = :hash AND i.expires_at > :now

-- invitations
SELECT id, email, role, expires_at FROM invitation WHERE workspace_id = :workspace AND expires_at > :now
ORDER BY created_at DESC, id DESC

-- team
SELECT u.id, u.email_address AS email, u.name, role, created_at, {has_factor} AS second_factor,
    (SELECT max(seen_at) FROM user_session s WHERE s.user_id = u.id) AS seen_at
FROM user_account u JOIN login l ON l.id = u.login_id WHERE workspace_id = :workspace ORDER BY created_at, u.id

-- move: where a workspace has gone, or that it comes here
SELECT move_id, moved_to FROM workspace WHERE id = :workspace

-- locked
-- Not FOR UPDATE: rows that refer to the workspace can still be written.
SELECT name, networks, quotas, suspended_at, deletion_began_at, move_id, sso_enforced FROM workspace
WHERE id = :workspace FOR NO KEY UPDATE

-- locked_login
-- What refers to it can be written meanwhile.
SELECT email, password_hash FROM login WHERE id = :login_id FOR NO KEY UPDATE

-- suspended
SELECT id FROM workspace WHERE id = ANY(:workspaces::text[]) AND suspended_at IS NOT NULL
