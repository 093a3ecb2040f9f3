-- add: add to the counts that the hours have
INSERT INTO endpoint_hour AS known (endpoint_id, hour, delivered, failed, first_delivered, first_failed, took, last_at,
    last_outcome)
SELECT made.endpoint_id, made.hour, made.delivered, made.failed, made.first_delivered, made.first_failed,
    string_to_array(made.took, ',')::int[], made.last_at, made.last_outcome
FROM unnest(:endpoints::text[], :hours::timestamptz[], :delivered::int[], :failed::int[], :firsts::int[],
    :failing::int[], :took::text[], :lasts::timestamptz[], :outcomes::text[]) AS made(endpoint_id, hour, delivered,
    failed, first_delivered, first_failed, took, last_at, last_outcome)
WHERE EXISTS (SELECT 1 FROM webhook_endpoint e WHERE e.id = made.endpoint_id)
ORDER BY made.endpoint_id, made.hour
ON CONFLICT (endpoint_id, hour) DO UPDATE SET delivered = known.delivered + EXCLUDED.delivered,
    failed = known.failed + EXCLUDED.failed,
    first_delivered = known.first_delivered + EXCLUDED.first_delivered,
    first_failed = known.first_failed + EXCLUDED.first_failed,
    took = ARRAY(SELECT before + more FROM unnest(known.took, EXCLUDED.took) AS pair(before, more)),
    last_at = greatest(known.last_at, EXCLUDED.last_at),
    last_outcome = CASE WHEN EXCLUDED.last_at >= known.last_at THEN EXCLUDED.last_outcome
        ELSE known.last_outcome END
