-- exists: whether the table is there
SELECT to_regclass('webhook_endpoint') IS NOT NULL

-- by_key: one secret of every key that secrets were sealed with, and of how many endpoints they are
SELECT DISTINCT ON (key) substring(secret FOR 4) AS key, id, secret,
    count(*) OVER (PARTITION BY substring(secret FOR 4))
FROM webhook_endpoint ORDER BY key

-- subscribed
SELECT EXISTS (SELECT 1 FROM webhook_endpoint WHERE workspace_id = :workspace AND enabled AND :kind = ANY(events))
