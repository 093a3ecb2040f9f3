-- add
UPDATE login SET totp_secret = :sealed, totp_step = :step WHERE id = :id

-- remove_app
UPDATE login SET totp_secret = NULL, totp_step = NULL WHERE id = :id AND totp_secret IS NOT NULL RETURNING id

-- lock
-- What refers to them can be written meanwhile.
SELECT email, password_hash FROM login WHERE id = :id FOR NO KEY UPDATE

-- find: a colleague who has a second factor
SELECT l.id, l.email, (SELECT count(*) FROM user_account o WHERE o.login_id = l.id) AS accounts
FROM user_account u JOIN login l ON l.id = u.login_id
WHERE u.workspace_id = :workspace AND u.id = :user AND {has_factor} FOR NO KEY UPDATE OF l

-- remove_passkeys
DELETE FROM passkey WHERE user_id = :user

-- stored
SELECT password_hash, totp_secret, {workspaces}, email FROM login l WHERE id = :id

-- use_step
UPDATE login SET totp_step = :step
WHERE id = :id AND totp_step < :step AND password_hash = :password_hash AND totp_secret = :sealed RETURNING id

-- use_code
DELETE FROM recovery_code WHERE user_id = :user AND hash = :hash RETURNING hash

-- count_codes
SELECT count(*) FROM recovery_code WHERE user_id = :user

-- remove_codes
DELETE FROM recovery_code WHERE user_id = :user
