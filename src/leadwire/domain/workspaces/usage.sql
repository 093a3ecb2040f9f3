-- What workspaces have. Nothing is kept for this: small tables are counted, large ones up to :most rows of a workspace,
-- and beyond that PostgreSQL's own statistics are asked.

-- counts: a page of workspaces, or one, and how many rows each has
-- The order is that of an index: else a workspace with few rows could cost a scan of everybody's.
SELECT w.id, w.name, w.created_at, w.moved_to, w.quotas,
    CASE WHEN moved_to IS NOT NULL THEN 'moved' WHEN deletion_began_at IS NOT NULL THEN 'being deleted'
    WHEN move_id IS NOT NULL THEN 'moving' WHEN suspended_at IS NOT NULL THEN 'suspended' ELSE 'active' END AS state,
    (SELECT count(*) FROM webhook_endpoint e WHERE e.workspace_id = w.id) AS endpoints,
    (SELECT count(*) FROM bot b WHERE b.workspace_id = w.id) AS bots,
    (SELECT count(*) FROM user_account u WHERE u.workspace_id = w.id)
        + (SELECT count(*) FROM invitation i WHERE i.workspace_id = w.id AND i.expires_at > :now) AS users,
    (SELECT count(*) FROM api_key k WHERE k.workspace_id = w.id AND k.revoked_at IS NULL
        AND (k.expires_at IS NULL OR k.expires_at > :now)) AS api_keys,
    (SELECT count(*) FROM (SELECT 1 FROM lead l WHERE l.workspace_id = w.id
        ORDER BY l.created_at DESC, l.id DESC LIMIT :most + 1) newest) AS leads,
    (SELECT count(*) FROM (SELECT 1 FROM conversation c WHERE c.workspace_id = w.id
        ORDER BY c.created_at DESC, c.id DESC LIMIT :most + 1) newest) AS conversations,
    (SELECT coalesce(sum(messages_count), 0) FROM (SELECT messages_count FROM conversation c
        WHERE c.workspace_id = w.id ORDER BY c.created_at DESC, c.id DESC LIMIT :most) newest) AS messages,
    (SELECT count(*) FROM (SELECT 1 FROM event v WHERE v.workspace_id = w.id
        ORDER BY v.kind, v.xact LIMIT :most + 1) found) AS events
FROM workspace w WHERE (:id::text IS NULL OR w.id = :id) AND w.id > :after ORDER BY w.id LIMIT :limit

-- tables: rows and bytes of the large tables, indexes and days included
SELECT coalesce(p.relname, c.relname)::text AS name,
    sum(CASE WHEN c.reltuples > 0 THEN c.reltuples ELSE pg_stat_get_live_tuples(c.oid) END::float8) AS rows,
    sum(pg_total_relation_size(c.oid))::bigint AS bytes
FROM pg_class c LEFT JOIN pg_inherits i ON i.inhrelid = c.oid LEFT JOIN pg_class p ON p.oid = i.inhparent
WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace
  AND coalesce(p.relname, c.relname) = ANY(:names::text[])
GROUP BY 1

-- common: of workspaces with more rows than most, about how many, as ANALYZE has found
SELECT coalesce(p.relname, c.relname)::text AS name, v.workspace_id,
    sum(v.share * greatest(c.reltuples, 0)) AS rows
FROM pg_class c LEFT JOIN pg_inherits i ON i.inhrelid = c.oid LEFT JOIN pg_class p ON p.oid = i.inhparent
JOIN pg_stats s ON s.schemaname = 'public' AND s.tablename = c.relname AND s.attname = 'workspace_id'
CROSS JOIN LATERAL unnest(s.most_common_vals::text::text[], s.most_common_freqs::float8[]) AS v(workspace_id, share)
WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace
  AND coalesce(p.relname, c.relname) = ANY(:names::text[]) AND v.workspace_id = ANY(:ids::text[])
GROUP BY 1, 2

-- near: workspaces that have used up :share of a quota, those nearest to its end first
WITH used AS (
    SELECT workspace_id, 'endpoints' AS quota, count(*) AS count FROM webhook_endpoint GROUP BY 1
    UNION ALL SELECT workspace_id, 'bots', count(*) FROM bot GROUP BY 1
    UNION ALL SELECT workspace_id, 'users', count(*) FROM (SELECT workspace_id FROM user_account
        UNION ALL SELECT workspace_id FROM invitation WHERE expires_at > :now) people GROUP BY 1
    UNION ALL SELECT workspace_id, 'api_keys', count(*) FROM api_key
        WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > :now) GROUP BY 1
)
SELECT w.id, w.name, quota, count, most FROM used JOIN workspace w ON w.id = used.workspace_id
CROSS JOIN LATERAL (
    SELECT coalesce(w.quotas->>used.quota, :defaults::json->>used.quota)::int AS most) limits
WHERE count > 0 AND count >= :share::float8 * most ORDER BY count::float8 / greatest(most, 1) DESC, w.id, quota LIMIT :limit

-- unfinished: workspaces whose deletion has begun
SELECT id, name FROM workspace WHERE deletion_began_at IS NOT NULL ORDER BY id
