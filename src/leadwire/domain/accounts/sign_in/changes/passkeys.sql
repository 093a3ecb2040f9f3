-- find: a passkey and whose it is, the login locked before the passkey
SELECT p.id, p.user_id, p.public_key, p.sign_count, {workspaces}, l.email
FROM passkey p JOIN login l ON l.id = p.user_id WHERE p.credential_id = :credential_id FOR NO KEY UPDATE OF l

-- use
-- Each challenge once; and a count goes up, where the device counts.
UPDATE passkey SET sign_count = :count, backed_up = :backed_up, last_used_at = :at
WHERE id = :id AND (last_used_at IS NULL OR last_used_at < :at)
    AND (sign_count < :count OR sign_count = 0 AND :count = 0) RETURNING id

-- remove
DELETE FROM passkey WHERE user_id = :login AND id = :id RETURNING name
