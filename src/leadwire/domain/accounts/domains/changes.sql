-- count
SELECT count(*) FROM email_domain WHERE workspace_id = :workspace

-- lock
SELECT {domain} FROM email_domain WHERE domain = :name ORDER BY id FOR NO KEY UPDATE

-- note
UPDATE email_domain SET proven_at = :proven_at, missing_since = :missing_since, taken_over_until = :taken_over_until,
    checked_at = :checked_at, fault = :fault, check_at = :check_at
WHERE id = :id

-- remove
DELETE FROM email_domain WHERE workspace_id = :workspace AND id = :id RETURNING domain

-- relies
SELECT name FROM identity_provider WHERE workspace_id = :workspace AND domains @> ARRAY[:domain]

-- add
INSERT INTO email_domain (id, workspace_id, domain, created_at) VALUES (:id, :workspace_id, :domain, :created_at)
ON CONFLICT (workspace_id, domain) DO NOTHING RETURNING id
