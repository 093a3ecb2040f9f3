-- conversation_ids
-- Also the conversation in which the lead was captured, if its visitor has become another lead since.
SELECT id, CASE WHEN lead_id = :id THEN visitor_email END AS email FROM conversation WHERE workspace_id = :workspace
  AND (lead_id = :id OR id = (SELECT conversation_id FROM lead WHERE id = :id)) ORDER BY created_at, id

-- event_ids
-- Materialized: else the planner may read every event there is, in the order of their ids.
WITH about AS MATERIALIZED (
    SELECT id FROM event WHERE workspace_id = :workspace AND (lead_id = :lead OR conversation_id = ANY(:conversations))
) SELECT id FROM about ORDER BY id
