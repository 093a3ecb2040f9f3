-- {columns}: those of `Redrive`
id, workspace_id, endpoint_id, replay, kinds, outcomes, first_event, end_event, first_number, last_number, per_second,
    state, total, done, died_since, created_at, updated_at

-- one
SELECT {columns} FROM redrive_job WHERE id = :job_id AND (:workspace::text IS NULL OR workspace_id = :workspace)

-- listed
SELECT {columns} FROM redrive_job WHERE :workspace::text IS NULL OR workspace_id = :workspace
ORDER BY created_at DESC, id DESC LIMIT :limit
