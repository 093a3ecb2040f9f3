-- listed
SELECT id, workspace_id, kind, recipient, state, attempts, created_at, finished_at, error FROM mail
WHERE :state::text IS NULL OR state = :state ORDER BY id DESC LIMIT :most

-- suppressed
SELECT address, reason, created_at FROM mail_suppression WHERE workspace_id = :workspace ORDER BY address

-- counts: how many mails wait, and how many were given up: each counted in its index
SELECT (SELECT count(*) FROM mail WHERE state = 'waiting') AS waiting,
    (SELECT count(*) FROM mail WHERE state = 'dead') AS dead
