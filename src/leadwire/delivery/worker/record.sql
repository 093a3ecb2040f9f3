-- record: move what this worker has claimed and that is still at these attempts, and insert the attempts
-- They go on to their next attempt, or to what has ended. Due times are the database's: a worker with a wrong clock
-- cannot make a retry early. In an order, a retry waits for what was redriven before it meanwhile. `event_id = ANY` bounds what is read, however the planner joins: the statistics may know of no delivery.
WITH made AS (
    SELECT * FROM unnest(:events::text[], :endpoints::text[], :generations::smallint[], :numbers::smallint[],
        :starts::timestamptz[], :durations::int[], :outcomes::text[], :statuses::smallint[], :errors::text[],
        :answers::text[], :headers::text[], :nexts::text[], :delays::float8[])
    AS made(event_id, endpoint_id, generation, number, started_at, duration_ms, outcome, http_status, error,
        response_body, response_headers, next, delay)
), again AS (
    UPDATE delivery d SET state = 'waiting', attempts = made.number, last_outcome = made.outcome, queued_at = NULL,
        owner = NULL, lease_until = NULL, retry_at = now() + made.delay * interval '1 second',
        due_at = CASE WHEN {behind} THEN 'infinity' ELSE now() + made.delay * interval '1 second' END
    FROM made
    WHERE made.next = 'waiting' AND d.event_id = ANY(:events::text[]) AND d.event_id = made.event_id
      AND d.endpoint_id = made.endpoint_id
      AND coalesce(d.owner, :owner) = :owner AND d.attempts = made.number - 1 AND d.generation = made.generation
    RETURNING d.event_id, d.endpoint_id
), ended AS (
    DELETE FROM delivery d USING made
    WHERE made.next <> 'waiting' AND d.event_id = ANY(:events::text[]) AND d.event_id = made.event_id
      AND d.endpoint_id = made.endpoint_id
      AND coalesce(d.owner, :owner) = :owner AND d.attempts = made.number - 1 AND d.generation = made.generation
    RETURNING d.event_id, d.endpoint_id, d.workspace_id, made.next, made.number, d.generation, d.test, d.created_at,
        made.outcome, d.sequence
), kept AS (
    INSERT INTO delivery_result (event_id, endpoint_id, workspace_id, state, attempts, generation, test, created_at,
        finished_at, last_outcome, sequence)
    SELECT event_id, endpoint_id, workspace_id, next, number, generation, test, created_at, now(), outcome, sequence
    FROM ended
    {last_end}
), settled AS (
    SELECT event_id, endpoint_id FROM again UNION ALL SELECT event_id, endpoint_id FROM ended
), noted AS (
    INSERT INTO attempt (event_id, endpoint_id, generation, number, started_at, duration_ms, outcome, http_status,
        error, response_body, response_headers, counted)
    SELECT event_id, endpoint_id, generation, number, started_at, duration_ms, outcome, http_status,
        error, CASE WHEN counted THEN response_body END, CASE WHEN counted THEN response_headers END, counted
    FROM made, LATERAL (SELECT (event_id, endpoint_id) IN (SELECT event_id, endpoint_id FROM settled)) AS fence(counted)
    ON CONFLICT DO NOTHING
)
SELECT event_id, endpoint_id FROM settled
