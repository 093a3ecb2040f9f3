-- responses
-- Of the latest conversations in which a person was asked for: how many, how many were answered, and how soon: half of
-- them, and nine in ten.
SELECT count(*)::int, count(took)::int, percentile_cont(0.5) WITHIN GROUP (ORDER BY took),
    percentile_cont(0.9) WITHIN GROUP (ORDER BY took)
FROM (SELECT extract(epoch FROM (SELECT min(m.created_at) FROM message m WHERE m.conversation_id = c.id
        AND m.role = 'agent' AND m.created_at >= c.handoff_requested_at) - c.handoff_requested_at)::float8 AS took
    FROM conversation c WHERE c.workspace_id = :workspace AND (:bot_id::text IS NULL OR c.bot_id = :bot_id)
      AND c.handoff_requested_at IS NOT NULL AND c.created_at >= :since AND c.created_at < :until
      AND c.handoff_reason NOT IN ('taken over by an operator', 'assigned by an operator')
    ORDER BY c.created_at DESC LIMIT 1000) AS asked

-- waiting
SELECT count(*)::int, min(since) FROM (SELECT c.handoff_requested_at AS since FROM conversation c
    WHERE c.workspace_id = :workspace AND (:bot_id::text IS NULL OR c.bot_id = :bot_id)
      AND c.status = 'handoff' AND c.assigned_to IS NULL LIMIT 1000) AS few

-- ratings
SELECT c.rating, count(*) FILTER (WHERE c.created_at >= :since)::int, count(*) FILTER (WHERE c.created_at < :since)::int
FROM conversation c WHERE c.workspace_id = :workspace AND (:bot_id::text IS NULL OR c.bot_id = :bot_id)
  AND c.rating IS NOT NULL AND c.created_at >= :before GROUP BY 1
