-- remove
DELETE FROM notice_address WHERE workspace_id = :workspace AND id = :address_id RETURNING service, host

-- queue: let a message wait at each address that has chosen its kind; where too many wait, the oldest are left out
UPDATE notice_address SET pending = (pending || :text::text)[greatest(1, cardinality(pending) + 2 - :most::int):],
    failed = CASE WHEN cardinality(pending) < :most THEN failed ELSE 0 END
WHERE workspace_id = :workspace AND :kind = ANY(kinds) AND stopped_at IS NULL RETURNING id

-- next
SELECT id, workspace_id, service, url, pending[1] AS text, failed,
    greatest(extract(epoch FROM due_at - now()), 0)::float8 AS due_in
FROM notice_address WHERE id = :address_id AND cardinality(pending) > 0

-- note: note what came of an attempt to send the first message, unless it is another by now
UPDATE notice_address SET error = :error, stopped_at = CASE WHEN :gone::bool THEN now() END,
    pending = CASE WHEN :gone THEN '{}' WHEN :ended::bool THEN pending[2:] ELSE pending END,
    failed = CASE WHEN :ended THEN 0 ELSE failed + 1 END,
    due_at = CASE WHEN NOT :ended THEN now() + make_interval(secs => :delay) END
WHERE id = :id AND pending[1] = :text RETURNING 1

-- one
SELECT id, service, url FROM notice_address WHERE workspace_id = :workspace AND id = :address_id

-- count
SELECT count(*) FROM notice_address WHERE workspace_id = :workspace
