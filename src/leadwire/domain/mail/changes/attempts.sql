-- claim
-- Times are kept to the millisecond, so what is due at once may seem to be due in half of one.
UPDATE mail m SET due_at = now() + interval '60 seconds'
WHERE id = :mail_id AND state = 'waiting' AND due_at <= now() + interval '1 millisecond'
RETURNING id, workspace_id, kind, recipient, data, attempts, created_at, due_at,
    EXISTS (SELECT 1 FROM mail_suppression s WHERE s.workspace_id = m.workspace_id AND s.address = m.recipient)

-- due_in
SELECT greatest(extract(epoch FROM due_at - now()), 0)::float8 FROM mail WHERE id = :mail_id AND state = 'waiting'

-- record: what came of an attempt, unless the claim has ended
UPDATE mail SET state = :state, attempts = attempts + 1, error = :error, due_at = now() + make_interval(secs => :delay),
    data = CASE WHEN :emptied THEN NULL ELSE data END, finished_at = CASE WHEN :state <> 'waiting' THEN now() END
WHERE id = :id AND due_at = :held AND state = 'waiting' RETURNING id

-- redrive: dead mails, or one, wait again
UPDATE mail SET state = 'waiting', attempts = 0, due_at = now(), finished_at = NULL
WHERE state = 'dead' AND (:id::text IS NULL OR id = :id) RETURNING priority, id, workspace_id

-- without_job: mails that a process of the version before has queued
SELECT id, workspace_id, due_at FROM mail m WHERE state = 'waiting' AND priority = :priority
    AND NOT EXISTS (SELECT 1 FROM job j WHERE j.kind = :kind AND j.key = m.id) ORDER BY due_at LIMIT 1000
