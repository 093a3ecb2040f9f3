-- by_visitor: note a place, unless it is behind the one that is known or behind the last message
UPDATE conversation SET seen_by_visitor_seq = :seq
WHERE workspace_id = :workspace AND id = :id AND seen_by_visitor_seq < :seq AND messages_count >= :seq RETURNING 1

-- by_agent: the same of operators
UPDATE conversation SET seen_by_agent_seq = :seq
WHERE workspace_id = :workspace AND id = :id AND seen_by_agent_seq < :seq AND messages_count >= :seq RETURNING 1

-- read: note how far an operator has read; they have seen where they were mentioned
-- The conversation is locked first, as by whoever writes in it: the other way round the two could deadlock.
INSERT INTO conversation_read AS r (user_id, conversation_id, workspace_id, seq)
SELECT :user_id, id, workspace_id, least(:seq::int, messages_count) FROM conversation
WHERE workspace_id = :workspace AND id = :id FOR NO KEY UPDATE
ON CONFLICT (user_id, conversation_id) DO UPDATE SET seq = greatest(r.seq, EXCLUDED.seq), mentioned_at = NULL
WHERE r.seq < EXCLUDED.seq OR r.mentioned_at IS NOT NULL RETURNING 1

-- rate: store a rating of a conversation that has ended lately
UPDATE conversation SET rating = :rating, rating_comment = :comment
WHERE workspace_id = :workspace AND id = :id AND ended_at > :since RETURNING 1
