-- count
SELECT count(*) FROM email_domain WHERE workspace_id = :workspace

-- lock
SELECT {domain} FROM email_domain WHERE domain = :name ORDER BY id FOR NO KEY UPDATE

-- relies
SELECT name FROM identity_provider WHERE workspace_id = :workspace AND domains @> ARRAY[:domain]

-- add
INSERT INTO email_domain (id, workspace_id, domain, created_at) VALUES (:id, :workspace_id, :domain, :created_at)
ON CONFLICT (workspace_id, domain) DO NOTHING RETURNING id

-- remove
DELETE FROM email_domain WHERE workspace_id = :workspace AND id = :id RETURNING domain
