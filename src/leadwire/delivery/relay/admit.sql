-- due: lock endpoints that are due, or those of these that are; not those that rest
-- The next statement sees all that others have committed before they let go of the rows. `front`: none is due before.
SELECT id, (SELECT least(now(), min(first.due_at)) - interval '2 seconds' FROM (SELECT due_at FROM webhook_endpoint
    WHERE enabled AND due_at < 'infinity' AND due_at >= :since ORDER BY due_at LIMIT 1) first) AS front
FROM webhook_endpoint WHERE enabled AND due_at < 'infinity' AND due_at <= now() AND due_at >= :since
    AND NOT id = ANY(:resting::text[]) AND (:ids::text[] IS NULL OR id = ANY(:ids))
ORDER BY due_at LIMIT :most FOR NO KEY UPDATE SKIP LOCKED

-- woken: lock those of these endpoints that nobody else has locked
SELECT id FROM webhook_endpoint WHERE enabled AND id = ANY(:ids::text[]) FOR NO KEY UPDATE SKIP LOCKED

-- admit: queue what the window, the rate (a bucket of one second's tokens) and a pause of each endpoint let through
-- What a receiver fetches itself is not queued here, nor is its endpoint looked at until more is added. Such an endpoint
-- is returned where something is due, without an event.
-- An endpoint with nothing left to do is due with its next retry, and open unless it has an order or a rate. One with
-- more than it may send is due when its rate allows another, or soon: before that, whoever records an outcome wakes it.
-- A host that has not answered its workspace yet gets so many a minute, and four at once, which its endpoints share. An
-- answer to one of them counts for all.
-- An endpoint's queue is read from `waiting_from` on, and what is queued of it is counted, from `queued_from` on, where
-- so many may be queued that the window has no room for another share. The whole queue is read now and then: nothing
-- rests on what others know. What lies ahead, as the clock was put back, is taken for past.
WITH endpoint AS MATERIALIZED (
    SELECT e.id, e.ordered, a_minute / 60.0 AS rate, e.paused_until > now() AS paused, e.paused_until,
        e.url LIKE 'pull:%' AS pulled, most AS admission_window, e.looked_at, whole, host.new AS new_host,
        CASE WHEN whole THEN '-infinity' ELSE e.waiting_from END AS since,
        CASE WHEN whole THEN 0 ELSE e.ordered_from END AS ordered_since,
        CASE WHEN tight THEN counted.queued ELSE e.queued END AS queued,
        CASE WHEN tight THEN counted.first ELSE e.queued_from END AS queued_from,
        least(greatest(1.0, a_minute / 60.0), coalesce(e.rate_tokens
            + abs(extract(epoch FROM now() - e.rate_at)::float8) * a_minute / 60.0, 'infinity')) AS tokens
    FROM webhook_endpoint e CROSS JOIN LATERAL (
        SELECT coalesce(bool_and(s.new_host), false) AS new, greatest(1, count(*) FILTER (WHERE s.enabled)) AS sharing
        FROM webhook_endpoint s WHERE e.new_host AND :new_host_rate::int > 0 AND s.workspace_id = e.workspace_id
          AND substring(s.url FROM '//(\[[^]]*\]|[^:/]*)') = substring(e.url FROM '//(\[[^]]*\]|[^:/]*)')
    ) host CROSS JOIN LATERAL (SELECT
        CASE WHEN new THEN least(e.rate_limit, :new_host_rate::float8 / sharing) ELSE e.rate_limit END AS a_minute,
        CASE WHEN new THEN least(e.admission_window, greatest(1, 4 / sharing)) ELSE e.admission_window END AS most
    ) bounds CROSS JOIN LATERAL (SELECT e.queued + :share > most AS tight,
        e.looked_at IS NULL OR NOT e.looked_at BETWEEN now() - interval '15 seconds' AND now() AS whole
    ) look CROSS JOIN LATERAL (SELECT count(*) AS queued, min(event_id) AS first FROM delivery d
        WHERE tight AND d.endpoint_id = e.id AND d.state = 'queued'
          AND d.event_id >= CASE WHEN whole THEN '' ELSE e.queued_from END) counted
    WHERE e.id = ANY(:ids::text[])
), room AS (
    SELECT *, admission_window - queued AS free FROM endpoint
), allowed AS (
    SELECT *, CASE WHEN paused OR pulled THEN 0
        ELSE greatest(0, least(free, :share, CASE WHEN rate IS NULL THEN free ELSE floor(tokens) END)) END AS count
    FROM room
), picked AS (
    SELECT p.* FROM allowed CROSS JOIN LATERAL (
        SELECT d.ctid, d.endpoint_id, d.event_id FROM delivery d
        WHERE d.endpoint_id = allowed.id AND d.state = 'waiting' AND d.due_at >= since AND d.due_at <= now()
        ORDER BY d.due_at LIMIT allowed.count FOR UPDATE SKIP LOCKED
    ) p
), taken AS (
    SELECT allowed.*, picks.* FROM allowed CROSS JOIN LATERAL (
        SELECT count(*) AS picked, min(event_id) AS picked_from FROM picked WHERE picked.endpoint_id = allowed.id) picks
), looked AS MATERIALIZED (
    SELECT taken.*, (SELECT d.due_at FROM delivery d WHERE d.endpoint_id = taken.id AND d.state = 'waiting'
            AND d.due_at >= since AND d.due_at < 'infinity'
            AND d.ctid <> ALL(ARRAY(SELECT ctid FROM picked WHERE picked.endpoint_id = taken.id))
            ORDER BY d.due_at LIMIT 1) AS next,
        CASE WHEN ordered THEN (SELECT d.position FROM delivery d WHERE d.endpoint_id = taken.id
            AND d.subject <> '' AND d.position >= ordered_since ORDER BY d.position LIMIT 1) END AS ordered_from
    FROM taken
), updated AS (
    UPDATE webhook_endpoint e SET
        open = coalesce(next > now(), true) AND free > picked AND NOT looked.ordered AND rate IS NULL
            AND NOT coalesce(paused, false) AND NOT pulled,
        rate_tokens = CASE WHEN rate IS NULL THEN e.rate_tokens ELSE tokens - picked END,
        rate_at = CASE WHEN rate IS NULL THEN e.rate_at ELSE now() END,
        queued = looked.queued + picked, waiting_from = least(next, now()),
        queued_from = coalesce(least(looked.queued_from, picked_from), e.queued_from),
        ordered_from = coalesce(looked.ordered_from, ordered_since),
        looked_at = CASE WHEN whole THEN now() ELSE e.looked_at END, new_host = looked.new_host,
        due_at = CASE
            WHEN pulled OR next IS NULL AND free > picked AND whole THEN 'infinity'
            WHEN next IS NULL AND free > picked THEN e.looked_at + interval '15.1 seconds'
            WHEN paused THEN greatest(next, looked.paused_until)
            WHEN next > now() THEN next
            WHEN rate IS NOT NULL AND tokens - picked < 1
                THEN now() + (1 - tokens + picked) / rate * interval '1 second'
            WHEN picked = :share THEN now()
            ELSE now() + interval '1 second' END
    FROM looked WHERE e.id = looked.id
), queued AS (
    UPDATE delivery SET state = 'queued', queued_at = now(), owner = NULL, lease_until = NULL
    WHERE ctid = ANY(ARRAY(SELECT ctid FROM picked)) RETURNING event_id, endpoint_id, attempts
)
SELECT * FROM queued UNION ALL SELECT NULL, id, NULL FROM looked WHERE pulled AND next <= now()

-- overfull: open endpoints that more is queued for than any window holds: their workers are away, or too slow
SELECT endpoint_id FROM delivery WHERE state = 'queued' GROUP BY endpoint_id
HAVING count(*) > :most AND (SELECT e.open FROM webhook_endpoint e WHERE e.id = endpoint_id)

-- close: let deliveries to endpoints wait; one that somebody has locked is looked at again soon
UPDATE webhook_endpoint SET open = false, due_at = now() WHERE id = ANY(ARRAY(
    SELECT id FROM webhook_endpoint WHERE id = ANY(:ids::text[]) AND open FOR NO KEY UPDATE SKIP LOCKED))
