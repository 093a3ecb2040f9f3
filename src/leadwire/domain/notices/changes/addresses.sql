-- remove
DELETE FROM notice_address WHERE workspace_id = :workspace AND id = :address_id RETURNING service, host

-- queue: let a message wait at each address that has chosen its kind; where too many wait, the oldest are left out
UPDATE notice_address SET pending = (pending || :text::text)[greatest(1, cardinality(pending) + 2 - :most::int):]
WHERE workspace_id = :workspace AND :kind = ANY(kinds) AND stopped_at IS NULL RETURNING id

-- next
SELECT id, workspace_id, service, url, pending[1] AS text FROM notice_address WHERE id = :address_id

-- note: note what came of an attempt to send the first message, unless it is another by now
UPDATE notice_address SET error = :error, stopped_at = CASE WHEN :gone::bool THEN now() END,
    pending = CASE WHEN :gone THEN '{}' WHEN :ended::bool THEN pending[2:] ELSE pending END
WHERE id = :id AND pending[1] = :text RETURNING 1

-- one
SELECT id, service, url FROM notice_address WHERE workspace_id = :workspace AND id = :address_id

-- count
SELECT count(*) FROM notice_address WHERE workspace_id = :workspace
