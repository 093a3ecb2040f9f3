-- lock
-- Not FOR UPDATE: rows that refer to the workspace can still be written.
SELECT suspended_at, quotas FROM workspace WHERE id = :workspace FOR NO KEY UPDATE
