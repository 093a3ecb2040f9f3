-- without_job
-- What a process of the version before has put off.
SELECT id, workspace_id FROM conversation c
WHERE least(snoozed_until, end_due_at) <= :now AND (snoozed_until IS NOT NULL OR end_due_at IS NOT NULL)
    AND NOT EXISTS (SELECT 1 FROM job j WHERE j.kind = 'conversation_due' AND j.key = c.id)
ORDER BY least(snoozed_until, end_due_at) LIMIT 200

-- lock
-- When it is due, and whether it ends.
SELECT least(snoozed_until, end_due_at), coalesce(end_due_at <= :now, false) FROM conversation
WHERE id = :conversation_id AND (snoozed_until IS NOT NULL OR end_due_at IS NOT NULL) FOR UPDATE NOWAIT

-- wake
-- It is new to them again.
WITH unread AS (
    UPDATE conversation_read r SET seq = least(seq, (SELECT max(m.seq) - 1 FROM message m
        WHERE m.conversation_id = r.conversation_id AND m.role = 'user')) WHERE conversation_id = :conversation_id
)
UPDATE conversation SET {awake}
WHERE workspace_id = :workspace AND id = :conversation_id
