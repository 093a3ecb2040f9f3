-- steps
-- Conversations that came to each node, and went on from it.
SELECT c.name, coalesce(sum(total) FILTER (WHERE c.kind = 'entered'), 0)::int,
    coalesce(sum(total) FILTER (WHERE c.kind = 'passed'), 0)::int
FROM bot_count c WHERE c.bot_id = ANY(ARRAY(SELECT id FROM bot WHERE workspace_id = :workspace AND id = :bot_id))
  AND c.day >= :since AND c.kind IN ('entered', 'passed') GROUP BY 1

-- sums
-- What happened of each kind and name in a period, and in the one before. An array, so that the bots are found first,
-- and of the counts only theirs are read.
SELECT c.kind, c.name, coalesce(sum(total) FILTER (WHERE c.day >= :since), 0)::int,
    coalesce(sum(total) FILTER (WHERE c.day < :since), 0)::int
FROM bot_count c WHERE c.bot_id = ANY(ARRAY(
    SELECT id FROM bot WHERE workspace_id = :workspace AND (:bot_id::text IS NULL OR id = :bot_id)))
  AND c.day >= :before AND c.kind NOT IN ('entered', 'passed') GROUP BY 1, 2 ORDER BY 3 DESC, 4 DESC, 2

-- by_bot
SELECT c.bot_id, c.kind, sum(total)::int
FROM bot_count c WHERE c.bot_id = ANY(ARRAY(SELECT id FROM bot WHERE workspace_id = :workspace))
  AND c.day >= :since AND c.kind IN ('shown', 'opened', 'started', 'lead', 'handoff') GROUP BY 1, 2
