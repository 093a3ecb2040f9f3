WITH {change}event AS (
    INSERT INTO event (id, workspace_id, kind, conversation_id, lead_id, subject, body, occurred_at, traceparent,
        test_endpoint_id, actor)
    SELECT given.* FROM unnest({given}) AS given (id)
    {changed} RETURNING id, workspace_id, kind, subject, position, test_endpoint_id, recorded_at
), way AS (
    SELECT event.*, endpoints, cardinality(endpoints) > 0 OR test_endpoint_id IS NOT NULL AS wanted,
        :direct::bool AND test_endpoint_id IS NULL AND cardinality(endpoints) <= {direct} AND open AS direct
    FROM event CROSS JOIN LATERAL (
        SELECT coalesce(array_agg(id), '{{}}') AS endpoints, coalesce(bool_and(open), true) AS open FROM (
            SELECT e.id, e.open FROM webhook_endpoint e
            WHERE e.workspace_id = event.workspace_id AND e.enabled AND event.kind = ANY(e.events)
              AND e.id IS DISTINCT FROM event.subject AND (e.filter_path IS NULL OR passes_filter(e.filter_path, (
                SELECT g.body FROM unnest(:id::text[], :body::text[]) AS g (id, body) WHERE g.id = event.id)))
            LIMIT {direct} + 1
        ) e
    ) subscribers
), delivery AS (
    INSERT INTO delivery (event_id, endpoint_id, workspace_id, state, due_at, queued_at)
    SELECT way.id, endpoint_id, workspace_id, 'queued', now(), now() FROM way, unnest(endpoints) AS endpoint_id
    WHERE direct
), outbox AS (
    INSERT INTO outbox (event_id, workspace_id, kind, subject, position, test_endpoint_id, recorded_at)
    SELECT id, workspace_id, kind, subject, position, test_endpoint_id, recorded_at FROM way WHERE wanted AND NOT direct
)
SELECT way.id, CASE WHEN direct THEN endpoints END AS queued, wanted AND NOT direct AS left_to_relay FROM {made}
