-- count_people: the people of a workspace and its open invitations, in one number
SELECT (SELECT count(*) FROM user_account WHERE workspace_id = :workspace)
    + (SELECT count(*) FROM invitation WHERE workspace_id = :workspace AND expires_at > :now)

-- turn
-- Of several who bring the same address at once, each finds what the one before has made.
SELECT pg_advisory_xact_lock(hashtextextended('login ' || lower(:email), 0))

-- name: what somebody is called where they have come to last
SELECT name FROM user_account WHERE login_id = :login ORDER BY name IS NULL, created_at DESC, id LIMIT 1

-- verified: whose address it is; whether they have nothing to sign in with but a provider, and where
SELECT id, password_hash IS NULL AND NOT EXISTS (SELECT 1 FROM passkey WHERE user_id = l.id) AS bare,
    {workspaces}
FROM login l WHERE lower(email) = lower(:email) AND verified_at IS NOT NULL

-- unverified
SELECT l.id FROM login l JOIN user_account u ON u.login_id = l.id
WHERE u.id = :user AND lower(l.email) = :email AND l.verified_at IS NULL FOR NO KEY UPDATE OF l

-- vouch
UPDATE login l SET verified_at = :at WHERE id = :login
    AND NOT EXISTS (SELECT 1 FROM login o WHERE lower(o.email) = :email AND o.id <> l.id)
    AND NOT EXISTS (SELECT 1 FROM user_account u WHERE u.login_id = l.id AND u.workspace_id <> :workspace)

-- add: an account; who was removed is so no more
WITH back AS (DELETE FROM removed_person WHERE workspace_id = :workspace_id AND email = lower(:email_address))
INSERT INTO user_account (id, workspace_id, login_id, email_address, name, role, created_at, operator)
VALUES (:id, :workspace_id, :login_id, :email_address, :name, :role, :created_at, :operator) ON CONFLICT DO NOTHING
RETURNING id

-- use
DELETE FROM invitation WHERE hash = :hash RETURNING operator
