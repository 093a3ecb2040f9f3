-- set
-- A changed setting is due at once, for leads from the first on: their place is one of the present round.
INSERT INTO retention (workspace_id, kind, days) VALUES (:workspace, :kind, :days)
ON CONFLICT (workspace_id, kind) DO UPDATE SET days = excluded.days, swept_at = NULL,
    after_time = CASE WHEN excluded.kind = 'leads' THEN excluded.after_time ELSE retention.after_time END,
    after_id = CASE WHEN excluded.kind = 'leads' THEN excluded.after_id ELSE retention.after_id END

-- {due}
(swept_at IS NULL OR swept_at < now() - interval '1 day')

-- all_due
SELECT workspace_id, kind FROM retention WHERE {due}

-- one_due
-- The clock that is behind counts: a wrong one alone makes nothing old.
SELECT days, least(:now::timestamptz, now()) AS now, after_time, after_id FROM retention
WHERE workspace_id = :workspace AND kind = :kind AND {due}

-- holds: whether the setting is the same still; nobody changes it before the transaction ends
SELECT 1 FROM retention WHERE workspace_id = :workspace AND kind = :kind AND days = :days FOR SHARE

-- move: what a batch did; how far it came only if the setting is the same still
UPDATE retention SET removed = removed + :removed,
    after_time = CASE WHEN days = :days THEN :after_time ELSE after_time END,
    after_id = CASE WHEN days = :days THEN :after_id ELSE after_id END
WHERE workspace_id = :workspace AND kind = :kind RETURNING removed, days = :days AS same

-- end_round
UPDATE retention SET swept_at = now(), removed = 0 WHERE workspace_id = :workspace AND kind = :kind
