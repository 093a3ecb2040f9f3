-- running
-- With whether whoever began it still may: people are erased by admins.
SELECT b.*, EXISTS (SELECT 1 FROM user_account u WHERE u.id = b.user_id AND u.workspace_id = b.workspace_id
    AND u.role IN ('admin', CASE b.kind WHEN 'set' THEN 'agent' END)) AS allowed
FROM bulk_change b WHERE b.workspace_id = :workspace AND b.id = :bulk_id AND b.state = 'running'

-- all_running
SELECT id, workspace_id FROM bulk_change WHERE state = 'running'

-- move
-- Takes the change one lead further, or without one past leads that do not match, unless another process or a person has
-- moved or ended it meanwhile. At most 100 leads that are left alone are named.
UPDATE bulk_change b SET after = :after, done = done + (:lead_id::text IS NOT NULL AND NOT :skipped::bool)::int,
    skipped = skipped + (:skipped)::int, updated_at = :now,
    left_alone = left_alone || CASE WHEN :skipped AND cardinality(left_alone) < 100 THEN ARRAY[:lead_id::text] END
WHERE workspace_id = :workspace AND id = :bulk_id AND state = 'running' AND after = :before
  AND EXISTS (SELECT 1 FROM user_account u WHERE u.id = b.user_id AND u.workspace_id = b.workspace_id
    AND u.role IN ('admin', CASE b.kind WHEN 'set' THEN 'agent' END)) RETURNING true
