-- columns
SELECT attname, coalesce(attnum = ANY(indkey), false) AS key FROM pg_attribute
LEFT JOIN pg_index ON indrelid = attrelid AND indisprimary
WHERE attrelid = to_regclass(:name) AND attnum > 0 AND NOT attisdropped ORDER BY attnum

-- settled
-- People of the workspace who are here already, with another one: their logins stay as they are here.
SELECT quote_literal(coalesce(array_agg(DISTINCT login_id), '{}')) || '::text[]' FROM user_account
WHERE login_id = ANY(:logins) AND workspace_id <> :workspace
