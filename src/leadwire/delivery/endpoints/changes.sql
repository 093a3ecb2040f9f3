-- {same_host}: the endpoints of a workspace that have the host of a URL
FROM webhook_endpoint WHERE workspace_id = :workspace
    AND substring(url FROM '//(\[[^]]*\]|[^:/]*)') = substring(:url::text FROM '//(\[[^]]*\]|[^:/]*)')

-- to_host: how many there are
SELECT count(*) {same_host}

-- none_has_answered: whether none of them has answered yet
SELECT coalesce(bool_and(new_host), true) {same_host}

-- hold: let all endpoints of a workspace take nothing until they are released
UPDATE webhook_endpoint SET paused_until = 'infinity', open = false, due_at = now() WHERE id = ANY(ARRAY(
    SELECT id FROM webhook_endpoint WHERE workspace_id = :workspace ORDER BY id FOR NO KEY UPDATE))

-- release: release those
UPDATE webhook_endpoint SET paused_until = NULL, open = false, due_at = now() WHERE id = ANY(ARRAY(
    SELECT id FROM webhook_endpoint WHERE workspace_id = :workspace AND paused_until = 'infinity'
    ORDER BY id FOR NO KEY UPDATE))

-- delete_batch: remove some endpoints of a workspace with what the relay was to do for them
WITH gone AS (
    DELETE FROM webhook_endpoint WHERE id = ANY(ARRAY(
        SELECT id FROM webhook_endpoint WHERE workspace_id = :workspace ORDER BY id LIMIT :most)) RETURNING id
), forgotten AS (DELETE FROM discard WHERE endpoint_id = ANY(ARRAY(SELECT id FROM gone)))
SELECT 1 FROM gone
