-- until_due: the seconds until there is something to hand out, as far as is known now
SELECT least((SELECT extract(epoch FROM first.due_at - now())::float8 FROM webhook_endpoint e CROSS JOIN LATERAL (
        SELECT d.due_at FROM delivery d WHERE d.endpoint_id = e.id AND d.state = 'waiting' AND d.due_at < 'infinity'
        ORDER BY d.due_at LIMIT 1) first
    WHERE e.id = :endpoint_id AND e.workspace_id = :workspace AND e.url LIKE 'pull:%'
      AND e.enabled AND e.paused_until IS DISTINCT FROM 'infinity'
      AND :largest > (SELECT count(*) FROM delivery q WHERE q.endpoint_id = e.id AND q.state = 'queued')),
  (SELECT 0 FROM webhook_endpoint e CROSS JOIN LATERAL (
        SELECT d.test FROM delivery d WHERE d.endpoint_id = e.id AND d.state = 'waiting' AND d.due_at <= now()
        ORDER BY d.due_at DESC LIMIT 100) latest
    WHERE e.id = :endpoint_id AND e.workspace_id = :workspace AND e.url LIKE 'pull:%' AND latest.test
      AND NOT (e.enabled AND e.paused_until IS DISTINCT FROM 'infinity') LIMIT 1))

-- take: hand out what is due, the earliest first, while fewer are handed out than any window holds
-- Of a disabled endpoint, or in a suspended workspace, tests alone: they are among the latest, as nothing else is added.
WITH taken AS (
    UPDATE delivery SET state = 'queued', queued_at = now(), owner = :lease,
        lease_until = now() + :seconds * interval '1 second'
    WHERE state = 'waiting' AND ctid = ANY(ARRAY(
        SELECT due.ctid FROM webhook_endpoint e CROSS JOIN LATERAL (
            SELECT d.ctid FROM delivery d
            WHERE d.endpoint_id = e.id AND e.enabled AND e.paused_until IS DISTINCT FROM 'infinity'
              AND d.state = 'waiting' AND d.due_at <= now()
            ORDER BY d.due_at LIMIT greatest(0, least(:most, :largest - (
                SELECT count(*) FROM delivery q WHERE q.endpoint_id = e.id AND q.state = 'queued')))
            FOR UPDATE SKIP LOCKED) due
        WHERE e.id = :endpoint_id AND e.workspace_id = :workspace AND e.url LIKE 'pull:%'
        UNION ALL (
        SELECT latest.ctid FROM webhook_endpoint e CROSS JOIN LATERAL (
            SELECT d.ctid, d.test FROM delivery d
            WHERE d.endpoint_id = e.id AND NOT (e.enabled AND e.paused_until IS DISTINCT FROM 'infinity')
              AND d.state = 'waiting' AND d.due_at <= now()
            ORDER BY d.due_at DESC LIMIT 100) latest
        WHERE e.id = :endpoint_id AND e.workspace_id = :workspace AND e.url LIKE 'pull:%' AND latest.test
        LIMIT :most)))
    RETURNING *
)
SELECT d.event_id, d.endpoint_id, d.attempts, d.generation, d.test, d.subject, d.workspace_id, d.sequence, v.subject AS ordering_key,
    e.numbered AND NOT d.test AS numbered, e.secret, e.staged_secret, e.signing_key, e.headers,
    convert_to(v.body, 'UTF8') AS body, v.traceparent, extract(epoch FROM now())::float8 AS taken_at
FROM taken d JOIN webhook_endpoint e ON e.id = d.endpoint_id JOIN event v ON v.id = d.event_id
ORDER BY d.event_id

-- held: what a lease still holds of these events
SELECT d.event_id, d.endpoint_id, d.attempts, d.generation, d.test, d.subject, d.workspace_id, v.traceparent,
    d.owner, d.queued_at AS started_at, extract(epoch FROM now() - d.queued_at)::float8 AS took,
    extract(epoch FROM d.created_at - v.recorded_at)::float8 AS relaying,
    extract(epoch FROM d.queued_at - v.recorded_at)::float8 AS age
FROM delivery d JOIN event v ON v.id = d.event_id
WHERE d.endpoint_id = :endpoint_id AND d.workspace_id = :workspace AND d.event_id = ANY(:events::text[])
  AND d.state = 'queued' AND d.owner = :lease AND d.lease_until > now()

-- delivered: which of these events have been delivered to an endpoint
SELECT event_id FROM delivery_result
WHERE endpoint_id = :endpoint_id AND workspace_id = :workspace AND event_id = ANY(:events::text[])
  AND event_id BETWEEN :first AND :last AND state = 'delivered'

-- expired: what has not been acknowledged in time, without endpoints that rest
-- Only endpoints with a token have had something handed out.
SELECT d.event_id, d.endpoint_id, d.attempts, d.generation, d.test, d.subject, d.workspace_id, v.traceparent,
    d.owner, d.queued_at AS started_at, extract(epoch FROM d.lease_until - d.queued_at)::float8 AS took,
    extract(epoch FROM d.created_at - v.recorded_at)::float8 AS relaying,
    extract(epoch FROM d.queued_at - v.recorded_at)::float8 AS age
FROM webhook_endpoint e JOIN delivery d ON d.endpoint_id = e.id JOIN event v ON v.id = d.event_id
WHERE e.token IS NOT NULL AND NOT e.id = ANY(:resting::text[])
  AND d.state = 'queued' AND d.owner LIKE 'pull:%' AND d.lease_until <= now()
LIMIT :most
