-- lock_of_lead
-- The one it was captured in as well, whose visitor may be another lead since; in one order for everybody.
SELECT coalesce(CASE WHEN lead_id = :lead_id THEN visitor_email END, '') FROM conversation WHERE workspace_id = :workspace
  AND (lead_id = :lead_id OR id = (SELECT conversation_id FROM lead WHERE id = :lead_id)) ORDER BY id FOR UPDATE

-- erase
-- The source goes as well: links in e-mails name whom they were sent to.
UPDATE conversation SET visitor_email = NULL, visitor_name = NULL, lead_id = NULL, source_url = NULL,
    source_referrer = NULL, rating_comment = NULL, variables = '{}', tags = '{}', updated_at = :now
WHERE workspace_id = :workspace AND (lead_id = :lead_id OR id = :conversation_id) RETURNING id

-- erase_messages
-- Visitors name themselves also where nobody asked. What the bot wrote stays unless it repeats an answer. A statement of
-- its own, which sees what was written while the one before waited for a conversation.
UPDATE message SET content = '[deleted]'
WHERE conversation_id = ANY(:ids::text[]) AND (role <> 'bot' OR answers IS NOT NULL)

-- blank
-- The flow's variables repeat what the visitor answered.
WITH blanked AS (
    UPDATE conversation SET variables = '{}', tags = '{}', rating_comment = NULL
    WHERE workspace_id = :workspace AND id = ANY(:ids::text[])
)
UPDATE message SET content = '[deleted]' WHERE conversation_id = ANY(:ids)

-- delete
DELETE FROM conversation WHERE workspace_id = :workspace AND id = ANY(:ids::text[])
