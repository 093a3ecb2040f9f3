-- hours: the hours of some endpoints of one workspace
SELECT h.* FROM endpoint_hour h JOIN webhook_endpoint e ON e.id = h.endpoint_id
WHERE e.workspace_id = :workspace AND h.endpoint_id = ANY(:endpoints) AND h.hour >= :since ORDER BY h.hour

-- latest: the latest hour that had attempts
SELECT extract(epoch FROM hour)::bigint, delivered, failed FROM endpoint_hour WHERE endpoint_id = :endpoint_id
ORDER BY hour DESC LIMIT 1

-- now: what is still to be sent to each at this moment, and the last outcome
-- Counts stop at 10,000.
SELECT e.id, last.last_at, last.last_outcome, due.next_at,
    (SELECT count(*) FROM (SELECT 1 FROM delivery d WHERE d.endpoint_id = e.id AND d.state = 'waiting'
        AND NOT d.test LIMIT 10000) AS few) AS waiting,
    (SELECT count(*) FROM (SELECT 1 FROM delivery_result d WHERE d.workspace_id = e.workspace_id
        AND d.endpoint_id = e.id AND d.state = 'dead' AND NOT d.test LIMIT 10000) AS few) AS dead
FROM webhook_endpoint e
LEFT JOIN LATERAL (SELECT nullif(greatest(d.due_at, e.paused_until), 'infinity') AS next_at FROM delivery d WHERE d.endpoint_id = e.id
    AND d.state = 'waiting' AND d.due_at < 'infinity' ORDER BY d.due_at LIMIT 1) AS due ON e.enabled
LEFT JOIN LATERAL (SELECT h.last_at, h.last_outcome FROM endpoint_hour h WHERE h.endpoint_id = e.id
    ORDER BY h.hour DESC LIMIT 1) AS last ON true
WHERE e.workspace_id = :workspace AND e.id = ANY(:endpoints)

-- days: the same of one endpoint, with first attempts alone
SELECT h.hour::date AS day, h.delivered, h.failed, h.first_delivered, h.first_failed, h.took
FROM endpoint_hour h JOIN webhook_endpoint e ON e.id = h.endpoint_id
WHERE e.workspace_id = :workspace AND h.endpoint_id = :endpoint_id AND h.hour >= :since
