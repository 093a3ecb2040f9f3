-- counted: all deliveries by state
SELECT exact_state AS state, count(*) FROM every_delivery GROUP BY exact_state

-- unfinished: only those of the stored states that have an index of their own
SELECT exact_state AS state, count(*) FROM every_delivery WHERE state = 'waiting' GROUP BY exact_state
UNION ALL SELECT exact_state AS state, count(*) FROM every_delivery WHERE state = 'queued' GROUP BY exact_state
UNION ALL SELECT exact_state AS state, count(*) FROM every_delivery WHERE state = 'dead' GROUP BY exact_state

-- {overdue}: deliveries past their time
FROM delivery d JOIN webhook_endpoint e ON e.id = d.endpoint_id AND e.enabled
    AND coalesce(e.paused_until, now()) <= now() AND e.url NOT LIKE 'pull:%'
WHERE d.state = 'waiting' AND d.due_at < now()

-- {oldest_overdue}: the seconds for which the oldest of them is
coalesce(round(extract(epoch FROM now() - min(d.due_at)), 3), 0)::float8

-- trouble: events that no relay has taken, deliveries past their time, and what else is not as it should be
SELECT unrelayed.*, overdue.*,
    (SELECT count(*) FROM webhook_endpoint WHERE enabled AND paused_until > now()) AS paused,
    (SELECT count(*) FROM delivery_result WHERE state = 'dead' AND NOT test) AS dead,
    (SELECT count(*) FROM delivery WHERE set_aside_at IS NOT NULL)
        + (SELECT count(*) FROM outbox WHERE set_aside_at IS NOT NULL) AS set_aside
FROM (SELECT count(*), coalesce(round(extract(epoch FROM now() - min(recorded_at)), 3), 0)::float8
        FROM outbox WHERE set_aside_at IS NULL) AS unrelayed,
    (SELECT count(*), {oldest_overdue} {overdue}) AS overdue

-- behind: the endpoints that have the most of them
SELECT e.id, e.url, count(*), {oldest_overdue}, e.admission_window {overdue}
GROUP BY e.id ORDER BY count(*) DESC, e.id LIMIT :limit
