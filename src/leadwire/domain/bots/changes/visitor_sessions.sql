-- renew_token: another token for a session that has begun lately and in which the visitor has said one thing only
UPDATE visit SET token_hash = :token_hash WHERE conversation_id = :conversation AND started_at > :since
    AND 1 = (SELECT count(*) FROM message WHERE conversation_id = :conversation AND role = 'user')
RETURNING conversation_id

-- record_nudge: note when the visitor was nudged: at the time of that message
UPDATE visit SET nudged_at = (SELECT updated_at FROM conversation WHERE id = :conversation)
WHERE conversation_id = :conversation

-- block: block the network of a conversation's visitor, unless it has been erased
INSERT INTO blocked_visitor (workspace_id, address, conversation_id, user_id, created_at)
SELECT :workspace, address, :conversation_id, :user_id, :now FROM visit
WHERE workspace_id = :workspace AND conversation_id = :conversation_id AND address IS NOT NULL
ON CONFLICT DO NOTHING
