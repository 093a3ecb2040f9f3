-- admins
SELECT u.id, u.email_address AS email, break_glass FROM user_account u JOIN login l ON l.id = u.login_id
WHERE workspace_id = :workspace AND role = 'admin' AND l.password_hash IS NOT NULL ORDER BY created_at, u.id

-- find
SELECT id, workspace_id, name, issuer, client_id, client_secret, domains, trusts_email, default_role, role_claim, roles
FROM identity_provider WHERE (:workspace::text IS NULL OR workspace_id = :workspace) AND (:id::text IS NULL OR id = :id)
ORDER BY created_at, id

-- {of_domain}: an address of a domain, as DNS has it or as it is shown
-- With two @, as older versions took it from a provider, it is of no domain.
split_part(lower(u.email_address), '@', 2) IN (:domain, :shown) AND u.email_address NOT LIKE '%@%@%'

-- for_domain: the providers that may assert an address of this domain
-- Where it was taken over, anybody may have entered it: then it has to be one of which people have accounts in that
-- workspace and in no other, so that nobody is led to a provider of strangers.
SELECT p.id, p.name FROM identity_provider p JOIN workspace w ON w.id = p.workspace_id
JOIN email_domain d ON d.workspace_id = p.workspace_id AND d.domain = :domain AND {counts}
WHERE p.domains @> ARRAY[:domain] AND p.client_secret IS NOT NULL AND w.suspended_at IS NULL
    AND (d.proven_at IS NOT NULL OR (
        EXISTS (SELECT 1 FROM user_account u WHERE {of_domain} AND u.workspace_id = p.workspace_id)
        AND NOT EXISTS (SELECT 1 FROM user_account u WHERE {of_domain} AND u.workspace_id <> p.workspace_id)))
ORDER BY p.created_at, p.id

-- is_enforced
SELECT sso_enforced FROM workspace WHERE id = :workspace
