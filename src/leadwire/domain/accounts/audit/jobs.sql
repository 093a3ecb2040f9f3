-- try_lock
-- Nobody else changes this chain until the transaction ends, nor a version before, which locks all chains.
SELECT pg_try_advisory_xact_lock_shared(7225)
    AND pg_try_advisory_xact_lock(hashtextextended('audit ' || :chain::text, 0))

-- unchained
-- A step in the index for each.
WITH RECURSIVE chain (id) AS (
    SELECT min(coalesce(workspace_id, 'installation')) FROM audit_entry WHERE number IS NULL
    UNION ALL
    SELECT (SELECT min(coalesce(workspace_id, 'installation')) FROM audit_entry
        WHERE number IS NULL AND coalesce(workspace_id, 'installation') > chain.id) FROM chain WHERE id IS NOT NULL
) SELECT id, '' FROM chain WHERE id IS NOT NULL

-- waiting: its oldest entries that are not chained
-- Others are skipped while a deletion of their workspace has them.
SELECT * FROM audit_entry WHERE {of_chain} AND number IS NULL
ORDER BY coalesce(workspace_id, 'installation'), id LIMIT :most FOR UPDATE SKIP LOCKED

-- {chained}
{of_chain} AND number IS NOT NULL

-- read: the seal of a chain, and the highest number in it
SELECT (SELECT sealed FROM audit_chain WHERE id = :chain), (
    SELECT number FROM audit_entry WHERE {chained} ORDER BY number DESC LIMIT 1)

-- chain: number and hash entries
UPDATE audit_entry e SET number = given.number, hash = given.hash
FROM unnest(:ids::text[], :numbers::bigint[], :hashes::bytea[]) AS given (id, number, hash) WHERE e.id = given.id

-- add_up: add up the rows of its count
-- Others are skipped while a deletion of their workspace has them.
WITH parts AS (
    DELETE FROM audit_count WHERE ctid = ANY(ARRAY(
        SELECT ctid FROM audit_count WHERE {of_chain} FOR UPDATE SKIP LOCKED)) RETURNING entries, digests)
INSERT INTO audit_count (id, workspace_id, entries, digests)
SELECT :id, nullif(:chain, 'installation'), sum(entries), sum(digests) FROM parts HAVING count(*) > 0

-- seal
INSERT INTO audit_chain (id, workspace_id, sealed) VALUES (:chain, nullif(:chain, 'installation'), :sealed)
ON CONFLICT (id) DO UPDATE SET sealed = excluded.sealed, head_due = true

-- old: the chains whose first entry is old
SELECT c.id, '' FROM audit_chain c CROSS JOIN LATERAL (
    SELECT e.id FROM audit_entry e WHERE coalesce(e.workspace_id, 'installation') = c.id AND e.number IS NOT NULL
    ORDER BY e.number LIMIT 1) first WHERE first.id < :before

-- first
SELECT * FROM audit_entry WHERE {chained} ORDER BY number LIMIT :most

-- drop
DELETE FROM audit_entry WHERE {chained} AND number <= :last

-- kept
SELECT 1 FROM audit_entry WHERE {chained} AND number <= :last LIMIT 1

-- due
SELECT id, '' FROM audit_chain WHERE head_due

-- ends
SELECT id, sealed FROM audit_chain WHERE id = ANY(:chains)

-- told
-- One that somebody has, or that has become longer, is told again.
WITH free AS (
    SELECT c.id FROM audit_chain c JOIN unnest(:ids::text[], :seals::bytea[]) AS told (id, sealed) USING (id, sealed)
    FOR UPDATE OF c SKIP LOCKED)
UPDATE audit_chain c SET head_due = false FROM free WHERE c.id = free.id

-- now
SELECT now()
