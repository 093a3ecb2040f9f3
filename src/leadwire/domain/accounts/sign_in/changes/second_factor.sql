-- find: a colleague who has a second factor
SELECT l.id, l.email FROM user_account u JOIN login l ON l.id = u.login_id
WHERE u.workspace_id = :workspace AND u.id = :user AND {has_factor} FOR NO KEY UPDATE OF l

-- stored
SELECT password_hash, totp_secret, {workspaces}, email FROM login l WHERE id = :id

-- remove_app
UPDATE login SET totp_secret = NULL, totp_step = NULL WHERE id = :login AND totp_secret IS NOT NULL RETURNING id

-- drop_idle_codes
DELETE FROM recovery_code r USING login l WHERE l.id = :login_id AND r.user_id = l.id AND NOT {has_factor}

-- use: a code of this step, unless the password or the secret is another by now, or a code as late was used
UPDATE login SET totp_step = :step
WHERE id = :login AND password_hash = :password_hash AND totp_secret = :sealed AND totp_step < :step RETURNING id

-- use_code
DELETE FROM recovery_code WHERE user_id = :login AND hash = :hash RETURNING id
