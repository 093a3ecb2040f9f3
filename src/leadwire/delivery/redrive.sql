-- events: lock events, in order, so that an erasure of one waits for us: nothing of it would be left to send
SELECT 1 FROM event v WHERE v.id = ANY(:events::text[]) AND v.id BETWEEN :first AND :last ORDER BY v.id FOR SHARE

-- unfinished: lock what is still to be sent, in order
-- Whoever records its outcome meanwhile has committed it then, and the next statement sees how it has ended.
SELECT 1 FROM unnest(:events::text[], :endpoints::text[]) AS a(event_id, endpoint_id)
JOIN delivery d USING (event_id, endpoint_id) WHERE d.event_id = ANY(:events::text[])
ORDER BY d.event_id, d.endpoint_id FOR UPDATE OF d

-- again: let deliveries wait again, as a new generation
-- Those that have ended in one of :states, and with :replay those that have never been. With :once a generation goes on:
-- its attempts are used up, so that it ends with the next one, whatever comes of it.
WITH asked AS (
    SELECT a.event_id, e.id AS endpoint_id, v.workspace_id, CASE WHEN e.ordered THEN v.subject END AS subject,
        CASE WHEN e.ordered AND v.subject IS NOT NULL THEN v.position END AS position
    FROM unnest(:events::text[], :endpoints::text[]) AS a(event_id, endpoint_id)
    JOIN event v ON v.id = a.event_id AND v.id BETWEEN :first AND :last AND v.body <> ''
    JOIN webhook_endpoint e ON e.id = a.endpoint_id
), ended AS (
    DELETE FROM delivery_result d USING asked a
    WHERE d.event_id = ANY(:events::text[]) AND d.event_id = a.event_id AND d.endpoint_id = a.endpoint_id
      AND d.event_id BETWEEN :first AND :last AND d.state = ANY(:states::text[])
    RETURNING d.event_id, d.endpoint_id, d.generation, d.attempts, d.sequence
), again AS (
    INSERT INTO delivery (event_id, endpoint_id, workspace_id, state, generation, attempts, subject, position, due_at,
        sequence)
    SELECT a.event_id, a.endpoint_id, a.workspace_id, 'waiting', coalesce(ended.generation, 0) + (NOT :once)::int,
        CASE WHEN :once THEN ended.attempts ELSE 0 END, a.subject,
        a.position, CASE WHEN a.subject IS NULL THEN now() ELSE 'infinity' END, ended.sequence
    FROM asked a LEFT JOIN ended USING (event_id, endpoint_id)
    WHERE ended.event_id IS NOT NULL OR :replay AND NOT EXISTS (SELECT 1 FROM delivery_result d
        WHERE d.event_id = a.event_id AND d.endpoint_id = a.endpoint_id AND d.event_id BETWEEN :first AND :last)
    ON CONFLICT DO NOTHING RETURNING endpoint_id, subject, position
), lowered AS (
    UPDATE webhook_endpoint e SET ordered_from = first.position FROM (
        SELECT endpoint_id, min(position) AS position FROM again WHERE subject IS NOT NULL GROUP BY endpoint_id) first
    WHERE e.id = first.endpoint_id AND e.ordered_from > first.position
), behind AS (
    UPDATE delivery d SET due_at = 'infinity', retry_at = d.due_at FROM again
    WHERE d.endpoint_id = again.endpoint_id AND d.subject = again.subject AND d.position > again.position
      AND d.state = 'waiting' AND d.due_at < 'infinity'
)
SELECT endpoint_id, subject FROM again

-- job: a job that runs, and how many deliveries its rate allows by now
-- One that nobody has started goes at the pace of its receiver: only so many of its deliveries are under way at a time,
-- and none is added while anything waits for its turn.
SELECT *, least(least(:longest, extract(epoch FROM now() - stepped_at)::float8) * per_second, (
    SELECT CASE WHEN EXISTS (SELECT 1 FROM delivery d WHERE d.endpoint_id = e.id AND d.state = 'waiting'
            AND d.due_at >= e.waiting_from AND d.due_at <= now()) THEN 0
        ELSE least(1 + e.rate_limit / 120, :under_way - (SELECT count(*) FROM delivery d
            WHERE d.endpoint_id = e.id AND d.state = 'queued' AND d.generation > 1 AND d.attempts = 0)) END
    FROM webhook_endpoint e WHERE e.id = redrive_job.endpoint_id AND redrive_job.died_since IS NOT NULL)) AS allowed
FROM redrive_job WHERE id = :id AND state = 'running' FOR UPDATE

-- stepped: a job's place after a batch
UPDATE redrive_job SET done = done + :moved, after_event = :after_event, after_endpoint = :after_endpoint,
    stepped_at = now(), updated_at = now(), state = CASE WHEN :finished THEN 'finished' ELSE state END
WHERE id = :id

-- insert: a job whose first step may begin at once, with a second's worth
INSERT INTO redrive_job (id, workspace_id, first_event, end_event, endpoint_id, kinds, outcomes, first_number,
    last_number, died_since, replay, per_second, state, total, stepped_at, created_at, updated_at)
VALUES (:id, :workspace_id, :first_event, :end_event, :endpoint_id, :kinds, :outcomes, :first_number,
    :last_number, :died_since, :replay, :per_second, :state, :total, now() - interval '1 second', now(), now())

-- delete_old: delete the jobs that somebody has started and that ended a month ago
DELETE FROM redrive_job WHERE state IN ('finished', 'cancelled') AND died_since IS NULL
  AND updated_at < now() - interval '30 days'
