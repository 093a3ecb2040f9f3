-- {may_go_on}: whether a job that nobody has started may go on
e.enabled AND e.auto_redrive_since IS NOT NULL AND coalesce(e.failing_since, now()) > now() - interval '1 minute'

-- {dead}: the dead letters that meet the criteria
-- Where nobody has started the job, they are none once it may not go on. By itself, each is sent again three times.
SELECT d.event_id, d.endpoint_id FROM delivery_result d JOIN webhook_endpoint e ON e.id = d.endpoint_id
WHERE NOT :replay::bool AND d.workspace_id = :workspace_id AND d.state = 'dead' AND NOT d.test
  AND d.event_id >= :first_event AND d.event_id < :end_event
  AND (:endpoint_id::text IS NULL OR d.endpoint_id = :endpoint_id)
  AND (:kinds::text[] IS NULL OR EXISTS (SELECT 1 FROM event v WHERE v.id = d.event_id AND v.kind = ANY(:kinds)))
  AND (:outcomes::text[] IS NULL OR d.last_outcome = ANY(:outcomes))
  AND (:first_number::bigint IS NULL OR d.sequence BETWEEN :first_number AND :last_number::bigint)
  AND (:died_since::timestamptz IS NULL OR d.finished_at >= :died_since AND d.generation <= 3 AND {may_go_on})

-- {past}: the events that an endpoint could have had, by the same criteria
-- Without kinds, those it subscribes to now. What is named, by numbers or as the first event, is also what it has had for
-- whatever reason.
SELECT v.id AS event_id, e.id AS endpoint_id
FROM event v JOIN webhook_endpoint e ON e.id = :endpoint_id AND e.workspace_id = v.workspace_id
WHERE :replay::bool AND v.workspace_id = :workspace_id AND v.id >= :first_event AND v.id < :end_event
  AND :outcomes::text[] IS NULL AND v.test_endpoint_id IS NULL AND :died_since::timestamptz IS NULL
  AND v.body <> '' AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.event_id = v.id)
  AND (:kinds::text[] IS NULL OR v.kind = ANY(:kinds))
  AND (:first_number::bigint IS NULL AND (:kinds IS NOT NULL OR v.kind = ANY(e.events))
        AND e.id IS DISTINCT FROM v.subject AND (e.filter_path IS NULL OR passes_filter(e.filter_path, v.body))
    OR (:first_number::bigint IS NOT NULL OR v.id = :first_event) AND EXISTS (
        SELECT 1 FROM delivery_result d WHERE d.event_id = v.id AND d.endpoint_id = e.id AND NOT d.test
          AND (:first_number::bigint IS NULL OR d.sequence BETWEEN :first_number AND :last_number::bigint)))

-- {after}: a batch of those, after a place
WHERE (event_id, endpoint_id) > (:after_event, :after_endpoint) AND event_id >= :after_event
ORDER BY event_id, endpoint_id LIMIT :allowed

-- count_dead: how many dead letters a job sends again, and the event of the last
SELECT count(*) AS total, max(event_id) AS last FROM ({dead}) AS those

-- count_past: how many events a replay sends, and the last of them
SELECT count(*) AS total, max(event_id) AS last FROM ({past}) AS those

-- next_dead: the next of a job
SELECT * FROM ({dead}) AS those {after}

-- next_past: the next of a replay
SELECT * FROM ({past}) AS those {after}

-- hurry: make a retry due now
-- What is behind another, or in quarantine, is due never, and stays so.
UPDATE delivery SET due_at = now() WHERE event_id = :event_id AND endpoint_id = :endpoint_id
    AND workspace_id = :workspace AND NOT test AND state = 'waiting' AND due_at > now() AND due_at < 'infinity'
RETURNING 1

-- events: lock events, in order, so that an erasure of one waits for us: nothing of it would be left to send
SELECT 1 FROM event v WHERE v.id = ANY(:events::text[]) AND v.id BETWEEN :first AND :last ORDER BY v.id FOR SHARE

-- unfinished: lock what is still to be sent, in order
-- Whoever records its outcome meanwhile has committed it then, and the next statement sees how it has ended.
SELECT 1 FROM unnest(:events::text[], :endpoints::text[]) AS a(event_id, endpoint_id)
JOIN delivery d USING (event_id, endpoint_id) WHERE d.event_id = ANY(:events::text[])
ORDER BY d.event_id, d.endpoint_id FOR UPDATE OF d

-- again: let deliveries wait again, as a new generation; return the subjects whose first may go now
-- Those that have ended in one of :states, and with :replay those that have never been. With :used a generation goes on:
-- so many attempts are used up, though a 410 has ended it before, and it ends with the next one, whatever comes of it.
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
    SELECT a.event_id, a.endpoint_id, a.workspace_id, 'waiting', coalesce(ended.generation, 0) + (:used::int IS NULL)::int,
        CASE WHEN :used IS NULL THEN 0 ELSE greatest(ended.attempts, :used) END, a.subject,
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
SELECT endpoint_id, CASE WHEN NOT {one_queued} THEN subject END FROM again d

-- job: a job that runs, and how many deliveries its rate allows by now
-- One that nobody has started goes at the pace of its receiver: only so many of its deliveries are under way at a time,
-- and none is added while anything waits for its turn. Where it may not go on it need not wait: it ends. A last step that
-- lies ahead, as the clock was put back, is taken for past.
SELECT *, least(least(:longest, abs(extract(epoch FROM now() - stepped_at)::float8)) * per_second, (
    SELECT CASE WHEN EXISTS (SELECT 1 FROM delivery d WHERE d.endpoint_id = e.id AND d.state = 'waiting'
            AND d.due_at >= e.waiting_from AND d.due_at <= now()) THEN 0
        ELSE least(1 + e.rate_limit / 120, :under_way - (SELECT count(*) FROM delivery d
            WHERE d.endpoint_id = e.id AND d.state = 'queued' AND d.generation > 1 AND d.attempts = 0)) END
    FROM webhook_endpoint e
    WHERE e.id = redrive_job.endpoint_id AND redrive_job.died_since IS NOT NULL AND {may_go_on})) AS allowed
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

-- move: a job takes a step, if it is in a state that this begins with
UPDATE redrive_job SET state = :after, stepped_at = now(), updated_at = now()
WHERE id = :id AND (:workspace::text IS NULL OR workspace_id = :workspace) AND state = ANY(:before)
RETURNING workspace_id
