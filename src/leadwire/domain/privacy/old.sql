-- {leads}: some leads in the order in which they were captured, and when something last happened to each
-- The latest of its conversations is looked up: NOT EXISTS is planned as one look at all conversations.
SELECT l.*, greatest(updated_at, (SELECT max(c.updated_at) FROM conversation c WHERE c.lead_id = l.id)) AS last_at
FROM (SELECT id, version, created_at, updated_at FROM lead
    WHERE workspace_id = :workspace AND (created_at, id) > (:after, :after_id) AND created_at < :before
    ORDER BY created_at, id LIMIT :most) l

-- some_leads
{leads} ORDER BY created_at, id

-- count_leads
SELECT count(*), count(*) FILTER (WHERE last_at < :before), min(last_at),
    coalesce((SELECT max(created_at) FROM lead WHERE workspace_id = :workspace) >= :before, false)
FROM ({leads}) l
