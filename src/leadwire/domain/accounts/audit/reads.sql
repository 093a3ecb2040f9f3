-- entries: A page of a chain
-- What was put in under a number that is there already comes behind it.
SELECT * FROM audit_entry WHERE {of_chain} AND number IS NOT NULL AND (number, id) > (:number, :id)
ORDER BY number, id LIMIT :most

-- waiting: how many entries are not chained, and whether some are so for long
SELECT count(*), coalesce(min(at) < :since::timestamptz, false) FROM audit_entry
WHERE {of_chain} AND number IS NULL

-- unchained: entries that are counted and not chained, a few; and what all those of the chain should add up to
SELECT * FROM audit_entry WHERE {of_chain} AND number IS NULL AND in_count

-- count: those of a workspace that is being deleted go in batches
SELECT coalesce(sum(entries), 0), coalesce(sum(digests), 0) FROM audit_count WHERE {of_chain}
HAVING NOT EXISTS (SELECT FROM workspace WHERE id = :chain AND deletion_began_at IS NOT NULL)

-- ended
SELECT subject, max(at) AS at FROM audit_entry WHERE workspace_id IS NULL AND in_count
    AND action IN ('workspace.deleted', 'workspace.moved_away') AND subject = ANY(:chains) GROUP BY subject

-- chains
SELECT id FROM workspace UNION SELECT id FROM audit_chain UNION SELECT 'installation' ORDER BY 1

-- one_moment: everything is read as it is at one moment
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY

-- of_installation
SELECT at, action, subject, detail FROM audit_entry WHERE workspace_id IS NULL ORDER BY id DESC LIMIT 20
