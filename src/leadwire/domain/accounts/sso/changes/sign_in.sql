-- lock: lock a provider; whether its workspace is suspended, and whether a domain counts there and is proven
-- Two who come from it at once take turns: neither makes what the other has just made.
SELECT w.suspended_at IS NOT NULL AS suspended, d.id IS NOT NULL AS counts, d.proven_at IS NOT NULL AS proven
FROM identity_provider p JOIN workspace w ON w.id = p.workspace_id
LEFT JOIN email_domain d ON d.workspace_id = p.workspace_id AND d.domain = :domain
    AND (d.proven_at IS NOT NULL OR d.taken_over_until > :now)
WHERE p.id = :provider FOR NO KEY UPDATE OF p

-- known: who somebody is; without an account where an admin has removed it
SELECT u.id, u.email_address, u.role
FROM user_identity i LEFT JOIN user_account u ON u.id = i.user_id AND u.workspace_id = i.workspace_id
WHERE i.provider_id = :provider AND i.subject = :subject

-- by_email: the account with an e-mail address, and whether somebody of this provider has it
-- Addresses are given to others when somebody leaves: an account has one person at each provider.
SELECT u.id, u.email_address, u.role, EXISTS (
    SELECT 1 FROM user_identity i WHERE i.user_id = u.id AND i.provider_id = :provider) AS taken
FROM user_account u WHERE u.workspace_id = :workspace AND lower(u.email_address) = :email

-- end: end a provider's session; where we do not know which one that is, every session of its person
DELETE FROM user_session s WHERE s.provider_id = :provider
    AND (:sid = '' OR s.provider_session = '' OR s.provider_session = :sid)
    AND ((:sid <> '' AND :subject = '' AND s.provider_session = :sid) OR s.user_id = (
        SELECT user_id FROM user_identity i WHERE i.provider_id = :provider AND i.subject = :subject))
RETURNING s.id

-- link
INSERT INTO user_identity (id, workspace_id, provider_id, subject, user_id, created_at)
VALUES (:id, :workspace_id, :provider_id, :subject, :user_id, :created_at)
ON CONFLICT (provider_id, subject) DO UPDATE SET user_id = excluded.user_id
