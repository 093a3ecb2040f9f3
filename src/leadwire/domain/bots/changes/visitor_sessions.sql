-- renew_token: another token for a session that has begun lately and in which the visitor has said one thing only
UPDATE visit SET token_hash = :token_hash WHERE conversation_id = :conversation AND started_at > :since
    AND 1 = (SELECT count(*) FROM message WHERE conversation_id = :conversation AND role = 'user')
RETURNING conversation_id

-- record_nudge
-- At the time of that message.
UPDATE visit SET nudged_at = (SELECT updated_at FROM conversation WHERE id = :conversation_id)
WHERE conversation_id = :conversation_id

-- block: block the network of a conversation's visitor, unless it has been erased
INSERT INTO blocked_visitor (workspace_id, address, conversation_id, user_id, created_at)
SELECT :workspace, address, :conversation_id, :user_id, :now FROM visit
WHERE workspace_id = :workspace AND conversation_id = :conversation_id AND address IS NOT NULL
ON CONFLICT DO NOTHING

-- unblock
DELETE FROM blocked_visitor WHERE workspace_id = :workspace AND conversation_id = :conversation_id RETURNING true

-- keep_consents
UPDATE consent SET conversation_id = NULL
WHERE workspace_id = :workspace AND conversation_id = ANY(:conversation_ids) AND lead_id IS NOT NULL

-- withdraw_consent: add that a consent is withdrawn, unless something later was recorded about the same question
INSERT INTO consent (id, workspace_id, conversation_id, lead_id, bot_id, flow_version, node, text, answer, given,
    user_id, created_at)
SELECT :new, workspace_id, conversation_id, lead_id, bot_id, flow_version, node, text, '', false, :user, :now
FROM consent given WHERE workspace_id = :workspace AND lead_id = :lead AND id = :id AND given.given
  AND NOT EXISTS (SELECT 1 FROM consent later WHERE later.lead_id = given.lead_id AND later.bot_id = given.bot_id
    AND later.node = given.node AND later.id > given.id)
RETURNING id
