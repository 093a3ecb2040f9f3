-- mention: let operators see that a note mentions them
INSERT INTO conversation_read (user_id, conversation_id, workspace_id, mentioned_at)
SELECT user_id, :id, :workspace, :at FROM unnest(:users::text[]) AS mentioned (user_id)
ON CONFLICT (user_id, conversation_id) DO UPDATE SET mentioned_at = EXCLUDED.mentioned_at

-- remove_reply
DELETE FROM saved_reply WHERE workspace_id = :workspace AND id = :reply_id RETURNING name
