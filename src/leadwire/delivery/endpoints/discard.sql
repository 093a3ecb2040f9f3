-- start: cancel what waits by now; a second call includes what came after the first
INSERT INTO discard (endpoint_id, until) VALUES (:endpoint_id, clock_timestamp())
ON CONFLICT (endpoint_id) DO UPDATE SET until = EXCLUDED.until

-- one: until when was asked for
SELECT until FROM discard WHERE endpoint_id = :endpoint_id FOR UPDATE

-- waiting: a batch of what waits
-- What is queued is in a worker's hands, which sees for itself whether the endpoint is gone.
SELECT event_id FROM delivery WHERE endpoint_id = :endpoint_id AND state = 'waiting'
    AND (:gone::bool OR created_at <= :until)
LIMIT :batch FOR UPDATE

-- cancel: they end as canceled
WITH canceled AS (
    DELETE FROM delivery WHERE endpoint_id = :endpoint_id AND event_id = ANY(:events::text[]) AND state = 'waiting'
    RETURNING *
)
{end_canceled}

-- held: subjects whose first delivery may have been among those
SELECT DISTINCT endpoint_id, subject FROM delivery d
WHERE endpoint_id = :endpoint_id AND subject IS NOT NULL AND state = 'waiting' AND due_at = 'infinity'
    AND NOT {one_queued}

-- count
SELECT count(*) FROM delivery WHERE endpoint_id = :endpoint_id AND state = 'waiting'
