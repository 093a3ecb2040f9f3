-- counts: what is unfinished, and dead letters; each is counted up to 10,000
SELECT (SELECT count(*) FROM (SELECT 1 FROM outbox WHERE set_aside_at IS NULL LIMIT 10000) AS found) AS unrelayed,
    (SELECT extract(epoch FROM now() - min(recorded_at))::float8 FROM (
        SELECT recorded_at FROM outbox WHERE set_aside_at IS NULL LIMIT 10000) AS found) AS oldest,
    (SELECT count(*) FROM (SELECT 1 FROM delivery WHERE state = 'waiting' LIMIT 10000) AS found) AS waiting,
    (SELECT count(*) FROM (SELECT 1 FROM delivery WHERE state = 'queued' LIMIT 10000) AS found) AS queued,
    (SELECT count(*) FROM (SELECT 1 FROM delivery_result WHERE state = 'dead' AND NOT test LIMIT 10000) AS found) AS dead,
    (SELECT count(*) FROM (SELECT 1 FROM delivery WHERE set_aside_at IS NOT NULL
        UNION ALL SELECT 1 FROM outbox WHERE set_aside_at IS NOT NULL LIMIT 10000) AS found) AS aside,
    (SELECT count(*) FROM webhook_endpoint WHERE new_host AND enabled) AS new_hosts

-- overdue: deliveries past their time, of each endpoint up to 10,000
-- From one endpoint that has some waiting to the next along the index: idle endpoints are not read. What waits for the
-- owner of a disabled endpoint, or in a suspended workspace, is late for nobody.
WITH RECURSIVE waiting(endpoint_id) AS (
    (SELECT endpoint_id FROM delivery WHERE state = 'waiting' ORDER BY endpoint_id LIMIT 1)
    UNION ALL
    SELECT (SELECT d.endpoint_id FROM delivery d WHERE d.state = 'waiting' AND d.endpoint_id > waiting.endpoint_id
        ORDER BY d.endpoint_id LIMIT 1)
    FROM waiting WHERE waiting.endpoint_id IS NOT NULL
), late AS (
    SELECT e.id, first.due_at, e.url LIKE 'pull:%' OR e.ordered OR e.rate_limit IS NOT NULL OR e.new_host
        OR e.paused_until > now() OR e.admission_window <= (
            SELECT count(*) FROM delivery q WHERE q.endpoint_id = e.id AND q.state = 'queued') AS held
    FROM waiting JOIN webhook_endpoint e ON e.id = waiting.endpoint_id CROSS JOIN LATERAL (
        SELECT d.due_at FROM delivery d WHERE d.endpoint_id = e.id AND d.state = 'waiting'
        ORDER BY d.due_at LIMIT 1) first
    WHERE e.enabled AND e.paused_until IS DISTINCT FROM 'infinity' AND (NOT e.open OR e.due_at < now())
        AND first.due_at < now()
)
SELECT coalesce(held, false) AS held, sum(counted.count)::int AS count,
    max(extract(epoch FROM now() - due_at))::float8 AS oldest
FROM late CROSS JOIN LATERAL (SELECT count(*) FROM (SELECT 1 FROM delivery d
    WHERE d.endpoint_id = late.id AND d.state = 'waiting' AND d.due_at < now() LIMIT 10000) AS found) counted
GROUP BY 1

-- saturated: endpoints with as many queued deliveries as their window allows
SELECT count(*) AS count
FROM (SELECT endpoint_id, count(*) FROM delivery WHERE state = 'queued' GROUP BY endpoint_id) busy
JOIN webhook_endpoint e ON e.id = busy.endpoint_id WHERE busy.count >= e.admission_window
