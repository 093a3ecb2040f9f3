-- {since}: since when dead letters of an endpoint are sent again by themselves
greatest(e.auto_redrive_since, (SELECT max(j.updated_at) FROM redrive_job j
    WHERE j.endpoint_id = e.id AND j.died_since IS NOT NULL AND j.state = 'cancelled'))

-- {dead}: those that are to be sent again, each three times
FROM delivery_result d WHERE d.workspace_id = e.workspace_id AND d.endpoint_id = e.id
    AND d.state = 'dead' AND NOT d.test AND d.event_id >= :first AND d.generation <= 3
    AND d.finished_at >= {since}

-- failed: endpoints that have something to send again
SELECT id, workspace_id FROM webhook_endpoint e
WHERE auto_redrive_since IS NOT NULL AND enabled AND EXISTS (SELECT 1 {dead})

-- endpoint: since when an endpoint sends again, whether the last answer was a 2xx, and whether its probe is under way
-- Whoever changes an endpoint may have forgotten its failures: only a probe made since then tells that it answers. And
-- whether somebody is sending dead letters again, or has begun to. Locked, so that what is seen is so until it is acted
-- upon.
SELECT e.workspace_id, {since} AS died_since, e.failing_since IS NULL AND e.updated_at < (
        SELECT max(a.started_at) FROM attempt a WHERE a.event_id = :probe AND a.endpoint_id = e.id) AS answers,
    EXISTS (SELECT 1 FROM delivery d WHERE d.event_id = :probe AND d.endpoint_id = e.id) AS probing,
    EXISTS (SELECT 1 FROM redrive_job j WHERE j.workspace_id = e.workspace_id AND j.state IN ('running', 'paused')
        AND coalesce(j.endpoint_id, e.id) = e.id) AS redriving
FROM webhook_endpoint e WHERE e.id = :id AND e.enabled AND e.auto_redrive_since IS NOT NULL FOR NO KEY UPDATE

-- next: of the oldest, the one that was tried the least: its receiver may refuse one and take the others
SELECT d.event_id FROM webhook_endpoint e CROSS JOIN LATERAL (
    SELECT d.event_id, d.attempts {dead} AND EXISTS (SELECT 1 FROM event v WHERE v.id = d.event_id AND v.body <> '')
    ORDER BY d.event_id LIMIT 100) d
WHERE e.id = :id ORDER BY d.attempts, d.event_id LIMIT 1

-- bring_forward: retries that are due later than all is to be sent, but for what the receiver has put off for longer
-- Their waits become a share of what they were: they keep their order, and do not all come at once. What is held stays.
WITH late AS (SELECT event_id FROM delivery WHERE endpoint_id = :id AND state = 'waiting' AND attempts > 0
    AND due_at > now() + :within::float8 * interval '1 s'
    AND due_at <= now() + (:schedule::float8[])[attempts] * interval '1 s'
    ORDER BY due_at LIMIT :most FOR UPDATE SKIP LOCKED)
UPDATE delivery d SET due_at = now() + (d.due_at - now()) * (:within / :longest::float8)
FROM late WHERE d.event_id = late.event_id AND d.endpoint_id = :id RETURNING 1
