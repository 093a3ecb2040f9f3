-- set
-- A changed setting is due at once.
INSERT INTO retention (workspace_id, kind, days) VALUES (:workspace, :kind, :days)
ON CONFLICT (workspace_id, kind) DO UPDATE SET days = excluded.days, swept_at = NULL

-- {due}
(swept_at IS NULL OR swept_at < now() - interval '1 day')

-- all_due
SELECT workspace_id, kind FROM retention WHERE {due}

-- one_due
-- The clock that is behind counts: a wrong one alone makes nothing old.
SELECT least(:now::timestamptz, now()) - days * interval '1 day', after_time, after_id FROM retention
WHERE workspace_id = :workspace AND kind = :kind AND {due}

-- move
UPDATE retention SET after_time = :after_time, after_id = :after_id, removed = removed + :removed
WHERE workspace_id = :workspace AND kind = :kind RETURNING removed

-- end_round
UPDATE retention SET swept_at = now(), removed = 0 WHERE workspace_id = :workspace AND kind = :kind
