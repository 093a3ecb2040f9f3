-- mention: let operators see that a note mentions them
INSERT INTO conversation_read (user_id, conversation_id, workspace_id, mentioned_at)
SELECT user_id, :id, :workspace, :at FROM unnest(:users::text[]) AS mentioned (user_id)
ON CONFLICT (user_id, conversation_id) DO UPDATE SET mentioned_at = EXCLUDED.mentioned_at

-- remove_reply
DELETE FROM saved_reply WHERE workspace_id = :workspace AND id = :reply_id RETURNING name

-- lock
SELECT status, assigned_to FROM conversation WHERE workspace_id = :workspace AND id = :id FOR UPDATE

-- assign
UPDATE conversation SET assigned_to = :user_id, end_due_at = NULL, {awake},
    assigned_at = CASE WHEN :user_id::text IS NOT NULL THEN :now::timestamptz END
WHERE workspace_id = :workspace AND id = :id

-- let_go: return to the queue what somebody has
UPDATE conversation SET assigned_to = NULL, assigned_at = NULL, {awake}
WHERE workspace_id = :workspace AND assigned_to = :user_id AND status = 'handoff' RETURNING id

-- responded
UPDATE conversation SET first_response_at = :at
WHERE workspace_id = :workspace AND id = :id AND first_response_at IS NULL

-- give_back
UPDATE conversation SET status = 'active', assigned_to = NULL, assigned_at = NULL, end_due_at = NULL,
    snoozed_until = NULL, updated_at = :now
WHERE workspace_id = :workspace AND id = :id

-- tag
UPDATE conversation SET tags = :tags WHERE workspace_id = :workspace AND id = :id

-- tags
SELECT tags FROM conversation WHERE workspace_id = :workspace AND id = :id

-- blanked: whether what was said is no longer kept (`blank` of `erasing.sql`); NULL where nothing was
SELECT bool_and(content = '[deleted]') FROM message WHERE conversation_id = :id

-- count_replies
SELECT count(*) FROM saved_reply WHERE workspace_id = :workspace

-- says_so: whether the last note is this one already
SELECT user_id = :user_id AND content = :content FROM conversation_note
WHERE workspace_id = :workspace AND conversation_id = :id ORDER BY created_at DESC, id DESC LIMIT 1
