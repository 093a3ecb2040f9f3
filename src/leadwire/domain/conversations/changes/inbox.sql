-- mentioned: let operators see that a note mentions them
INSERT INTO conversation_read (user_id, conversation_id, workspace_id, mentioned_at)
SELECT user_id, :id, :workspace, :at FROM unnest(:users::text[]) AS mentioned (user_id)
ON CONFLICT (user_id, conversation_id) DO UPDATE SET mentioned_at = EXCLUDED.mentioned_at

-- add_reply: add a reply unless the workspace has as many as it may
INSERT INTO saved_reply (id, workspace_id, name, content, created_at) SELECT :id, :workspace, :name, :content, :now
WHERE (SELECT count(*) FROM saved_reply WHERE workspace_id = :workspace) < :most RETURNING id
