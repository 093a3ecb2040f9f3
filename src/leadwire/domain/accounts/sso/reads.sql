-- for_domain: the providers that may assert an address of this domain
-- Anybody can enter any domain, so it has to be one of which people have accounts in that workspace and in no other:
-- nobody is led to a provider of strangers.
SELECT p.id, p.name FROM identity_provider p JOIN workspace w ON w.id = p.workspace_id
WHERE p.domains @> ARRAY[:domain] AND p.client_secret IS NOT NULL AND w.suspended_at IS NULL
    AND EXISTS (SELECT 1 FROM user_account u
        WHERE split_part(lower(u.email), '@', 2) = :domain AND u.workspace_id = p.workspace_id)
    AND NOT EXISTS (SELECT 1 FROM user_account u
        WHERE split_part(lower(u.email), '@', 2) = :domain AND u.workspace_id <> p.workspace_id)
ORDER BY p.created_at, p.id
