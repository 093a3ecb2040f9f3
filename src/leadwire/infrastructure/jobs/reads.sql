-- {state}: of a job
CASE WHEN failed_at IS NOT NULL THEN 'failed' WHEN due_at <= now() THEN 'waiting'
    WHEN owner IS NOT NULL THEN 'running' ELSE 'scheduled' END

-- {kinds}: each kind that has jobs, by one step in the index for each
WITH RECURSIVE kinds (kind) AS (
    SELECT min(kind) FROM job
    UNION ALL
    SELECT (SELECT min(j.kind) FROM job j WHERE j.kind > kinds.kind) FROM kinds WHERE kind IS NOT NULL
)

-- summaries: of each kind what is due or being done, the oldest that is due or has failed, and how many have failed
-- What is being done is not late, however long it takes: what takes longer than it may fails.
{kinds}
SELECT kinds.kind, due.count, coalesce(extract(epoch FROM now() - oldest.since), 0)::float8, oldest.key,
    tried.failed, tried.failing
FROM kinds CROSS JOIN LATERAL (
    SELECT array_agg(key) AS keys, count(*) FROM (
        SELECT key, due_at, owner FROM job WHERE kind = kinds.kind AND failed_at IS NULL
            AND due_at <= now() + :lease * interval '1 second' ORDER BY due_at LIMIT :most) j
    WHERE due_at <= now() OR owner IS NOT NULL
) due CROSS JOIN LATERAL (
    SELECT count(failed_at) AS failed, count(*) - count(failed_at) AS failing
    FROM (SELECT failed_at FROM job WHERE kind = kinds.kind AND tries > 0 LIMIT :most) j
) tried LEFT JOIN LATERAL (
    SELECT key, since FROM (
        SELECT key, since FROM job WHERE kind = kinds.kind AND key = ANY(due.keys) AND due_at <= now()
        UNION ALL
        (SELECT key, since FROM job WHERE kind = kinds.kind AND tries > 0 AND failed_at IS NULL ORDER BY since LIMIT 1)
    ) j ORDER BY since LIMIT 1
) oldest ON true WHERE kinds.kind IS NOT NULL ORDER BY kinds.kind

-- unattended: how late the chores are that nobody has begun; there are none where no background process has ever run
{kinds}
SELECT count(*), coalesce(max(extract(epoch FROM now() - due_at)), 0)::float8
FROM job JOIN kinds USING (kind) WHERE key = ''

-- listed
SELECT kind, key, workspace_id, {state} AS state, since, due_at, tries, error FROM job
WHERE (:kind::text IS NULL OR kind = :kind) AND (:state::text IS NULL OR {state} = :state)
    AND (key <> '' OR tries > 0)
ORDER BY since, kind, key LIMIT :most

-- retry: jobs that have failed, once or for good, are due now
UPDATE job SET failed_at = NULL, tries = 0, due_at = now()
WHERE tries > 0 AND (owner IS NULL OR due_at <= now())
    AND (:kind::text IS NULL OR kind = :kind) AND (:key::text IS NULL OR key = :key)
RETURNING 1
