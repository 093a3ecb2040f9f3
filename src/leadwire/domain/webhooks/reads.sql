-- {columns}: those of `schema.Endpoint`
id, workspace_id, url, events, filter, enabled, disabled_reason, ordered, numbered, rate_limit, headers, staged_at,
    token_at, public_keys, certificate_subject, certificate_ends_at, failing_since, paused_until, new_host,
    auto_redrive_since, created_at

-- endpoints
SELECT {columns} FROM webhook_endpoint WHERE :workspace::text IS NULL OR workspace_id = :workspace
ORDER BY created_at, id

-- endpoint
SELECT {columns} FROM webhook_endpoint WHERE id = :id AND (:workspace::text IS NULL OR workspace_id = :workspace)

-- attempts
-- By itself is an attempt after the last of its series, and those of a series that a redrive began which nobody
-- has started: after the series before, and before this one.
SELECT generation, number, counted, started_at, duration_ms, outcome, http_status, error, response_body,
    number > :series OR EXISTS (SELECT 1 FROM redrive_job j
        WHERE j.endpoint_id = :endpoint_id AND j.died_since IS NOT NULL
          AND j.created_at < (SELECT min(s.started_at) FROM attempt s
            WHERE s.event_id = :event_id AND s.endpoint_id = :endpoint_id AND s.generation = a.generation)
          AND j.updated_at > (SELECT max(s.started_at) FROM attempt s
            WHERE s.event_id = :event_id AND s.endpoint_id = :endpoint_id AND s.generation = a.generation - 1)
          AND j.first_event <= :event_id AND j.after_event >= :event_id) AS by_itself, response_headers
FROM attempt a WHERE event_id = :event_id AND endpoint_id = :endpoint_id ORDER BY started_at, generation, number

-- tested
SELECT id FROM event WHERE id = :event_id AND test_endpoint_id = :endpoint_id
    AND (:workspace::text IS NULL OR workspace_id = :workspace)

-- numbered: the events whose deliveries to an endpoint have these numbers
SELECT event_id FROM every_delivery WHERE endpoint_id = :endpoint_id AND sequence BETWEEN :first AND :last
ORDER BY sequence

-- certificates_ending: client certificates that end before a time, the first to end first
SELECT id, certificate_subject, certificate_ends_at FROM webhook_endpoint WHERE certificate_ends_at < :before
ORDER BY certificate_ends_at, id

-- public_keys: what is published of an endpoint's keys, and where its workspace has gone
SELECT e.public_keys, w.moved_to FROM webhook_endpoint e JOIN workspace w ON w.id = e.workspace_id
WHERE e.id = :endpoint_id

-- states: how the deliveries of some events stand; the range of ids leaves out the partitions of other days
SELECT event_id, endpoint_id, exact_state, (SELECT url FROM webhook_endpoint e WHERE e.id = endpoint_id)
FROM every_delivery
WHERE workspace_id = :workspace AND event_id = ANY(:events) AND event_id >= :first AND event_id <= :last
ORDER BY event_id, endpoint_id

-- {listed}: the columns of `schema.Delivery`
d.event_id, d.endpoint_id, v.kind, d.exact_state, d.attempts, d.last_outcome, v.occurred_at, d.due_at, d.finished_at

-- {those}: deliveries of a workspace, or of an endpoint
FROM every_delivery d JOIN event v ON v.id = d.event_id WHERE (:workspace::text IS NULL OR d.workspace_id = :workspace)
    AND (:endpoint_id::text IS NULL OR d.endpoint_id = :endpoint_id)

-- {dead}
{those} AND d.state = 'dead' AND NOT d.test AND (:event_id::text IS NULL OR d.event_id = :event_id)

-- dead_letters
SELECT {listed} {dead} ORDER BY d.event_id DESC, d.endpoint_id LIMIT :limit

-- count_dead_letters
SELECT count(*) {dead}

-- deliveries: one event's deliveries with the event
SELECT {listed}, (SELECT url FROM webhook_endpoint e WHERE e.id = d.endpoint_id), v.body, d.test, d.generation,
    d.sequence, coalesce(v.lead_id, v.conversation_id), v.recorded_at, d.created_at, v.traceparent, v.subject
{those} AND d.event_id = :event_id ORDER BY d.endpoint_id
