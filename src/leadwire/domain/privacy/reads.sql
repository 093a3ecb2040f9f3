-- {ended}: those that ended in a span
FROM conversation WHERE workspace_id = :workspace AND ended_at > :after AND ended_at < :before

-- {newest}: when the last has ended
-- It is looked up, as EXISTS may read all.
SELECT max(ended_at) FROM conversation WHERE workspace_id = :workspace AND ended_at IS NOT NULL

-- count_ended: how many without a lead have ended in a span, the first of them, and whether any has ended since
-- They are a statement of their own, as those with a lead are: each has an index.
SELECT count(*), min(ended_at), coalesce(({newest} AND lead_id IS NULL) >= :before, false)
FROM (SELECT ended_at {ended} AND lead_id IS NULL ORDER BY ended_at LIMIT :most) old

-- count_ended_of_leads: the same of those with a lead
SELECT count(*), min(ended_at), coalesce(({newest} AND lead_id IS NOT NULL) >= :before, false)
FROM (SELECT ended_at {ended} AND lead_id IS NOT NULL ORDER BY ended_at LIMIT :most) old

-- ended: those that ended first in a span, all that ended at one moment together
SELECT id, ended_at FROM (
    (SELECT id, ended_at {ended} AND lead_id IS NULL ORDER BY ended_at FETCH FIRST (:most) ROWS WITH TIES)
    UNION ALL
    (SELECT id, ended_at {ended} AND lead_id IS NOT NULL ORDER BY ended_at FETCH FIRST (:most) ROWS WITH TIES)) found
ORDER BY ended_at FETCH FIRST (:most) ROWS WITH TIES

-- {last_at}: when something last happened to a lead
-- The latest of its conversations is looked up: NOT EXISTS is planned as one look at all conversations.
greatest(updated_at, (SELECT max(c.updated_at) FROM conversation c WHERE c.lead_id = l.id))

-- lead_last_at
SELECT {last_at} FROM lead l WHERE workspace_id = :workspace AND id = :lead_id

-- {captured}: some leads in the order in which they were captured, and when something last happened to each
SELECT l.*, {last_at} AS last_at
FROM (SELECT id, created_at, updated_at FROM lead
    WHERE workspace_id = :workspace AND (created_at, id) > (:after, :after_id) AND created_at < :before
    ORDER BY created_at, id LIMIT :most) l

-- leads
{captured} ORDER BY created_at, id

-- count_leads
SELECT count(*), count(*) FILTER (WHERE last_at < :before), min(last_at),
    coalesce((SELECT max(created_at) FROM lead WHERE workspace_id = :workspace) >= :before, false)
FROM ({captured}) l
