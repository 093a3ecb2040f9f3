-- read: who reads a conversation has seen where they were mentioned in it
-- The conversation is locked first, as by whoever writes in it: the other way round the two could deadlock.
INSERT INTO conversation_read AS r (user_id, conversation_id, workspace_id, seq)
SELECT :user_id, id, workspace_id, least(:seq::int, messages_count) FROM conversation
WHERE workspace_id = :workspace AND id = :id FOR NO KEY UPDATE
ON CONFLICT (user_id, conversation_id) DO UPDATE SET seq = greatest(r.seq, EXCLUDED.seq), mentioned_at = NULL
WHERE r.seq < EXCLUDED.seq OR r.mentioned_at IS NOT NULL RETURNING 1
