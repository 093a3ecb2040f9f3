-- keep: keep what a lead has consented to in conversations that go
UPDATE consent SET conversation_id = NULL
WHERE workspace_id = :workspace AND conversation_id = ANY(:conversation_ids) AND lead_id IS NOT NULL

-- withdraw: add that a consent is withdrawn, unless something later was recorded about the same question
INSERT INTO consent (id, workspace_id, conversation_id, lead_id, bot_id, flow_version, node, text, answer, given,
    user_id, created_at)
SELECT :new, workspace_id, conversation_id, lead_id, bot_id, flow_version, node, text, '', false, :user, :now
FROM consent given WHERE workspace_id = :workspace AND lead_id = :lead AND id = :id AND given.given
  AND NOT EXISTS (SELECT 1 FROM consent later WHERE later.lead_id = given.lead_id AND later.bot_id = given.bot_id
    AND later.node = given.node AND later.id > given.id)
RETURNING id
