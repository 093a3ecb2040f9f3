-- listed
SELECT {domain} FROM email_domain WHERE workspace_id = :workspace ORDER BY domain, id

-- one
SELECT {domain} FROM email_domain WHERE workspace_id = :workspace AND id = :domain_id

-- counting
SELECT d.domain FROM email_domain d
WHERE d.workspace_id = :workspace AND d.domain = ANY(:names::text[]) AND {counts} FOR KEY SHARE

-- taken_over
SELECT domain, to_char(taken_over_until AT TIME ZONE 'UTC', 'YYYY-MM-DD') FROM email_domain
WHERE taken_over_until > :now ORDER BY taken_over_until, domain

-- due
SELECT id, workspace_id FROM email_domain WHERE check_at <= now() ORDER BY check_at LIMIT 500
