-- {in_use}: whether a key has not ended
revoked_at IS NULL AND (expires_at IS NULL OR expires_at > :now)

-- {mine}: of a workspace, or (for operators) of any
id = :id AND (:workspace::text IS NULL OR workspace_id = :workspace)

-- count_keys
SELECT count(*) FROM api_key WHERE workspace_id = :workspace AND {in_use}

-- end_key_later
UPDATE api_key SET expires_at = least(expires_at, :end::timestamptz)
FROM (SELECT id AS old, expires_at - created_at AS life, successor AS rolled_to FROM api_key WHERE {mine} AND {in_use} FOR UPDATE) before
WHERE id = old RETURNING workspace_id, name, scopes, networks, life, rolled_to

-- set_networks
UPDATE api_key SET networks = :networks FROM (SELECT id, networks FROM api_key WHERE {mine} AND {in_use} FOR UPDATE) before
WHERE api_key.id = before.id RETURNING before.networks

-- revoke_key
UPDATE api_key SET revoked_at = coalesce(revoked_at, :now)
WHERE id = :key_id AND (:workspace::text IS NULL OR workspace_id = :workspace) RETURNING true

-- note_use
UPDATE api_key SET last_used_at = :now
WHERE id = ANY(:key_ids) AND coalesce(last_used_at < :now::timestamptz - interval '1 minute', true)
