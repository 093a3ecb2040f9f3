-- wake: endpoints are due: at once, or within a second those that wait for room
-- What is put back waits since before.
WITH locked AS MATERIALIZED (
    SELECT id, ordered, open, due_at, waiting_from FROM webhook_endpoint WHERE id = ANY(:ids::text[])
    ORDER BY id FOR NO KEY UPDATE
), bound AS (
    SELECT now() + :soon * interval '1 second' AS late, CASE WHEN :open THEN now() ELSE '-infinity' END AS since
), woken AS (
    UPDATE webhook_endpoint SET due_at = CASE WHEN due_at > late THEN now() ELSE due_at END, open = open AND :open,
        waiting_from = least(waiting_from, since)
    FROM bound WHERE id = ANY(ARRAY(SELECT id FROM locked, bound
        WHERE (due_at > late OR open AND NOT :open OR waiting_from > since)
          AND (due_at <= now() + interval '1 second' OR NOT id = ANY(:roomy::text[]))))
)
SELECT id, ordered FROM locked

-- release_first: the first delivery of each subject becomes due; those behind it are due never
-- A retry is not due before its time, and one that is in quarantine not at all.
WITH endpoint AS MATERIALIZED (
    SELECT id, ordered_from FROM webhook_endpoint WHERE id = ANY(:endpoints::text[])
)
UPDATE delivery SET due_at = greatest(now(), retry_at) WHERE ctid = ANY(ARRAY(
    SELECT first.ctid FROM unnest(:endpoints::text[], :subjects::text[]) AS asked(endpoint_id, subject)
    JOIN endpoint e ON e.id = asked.endpoint_id
    CROSS JOIN LATERAL (SELECT d.ctid, d.due_at, d.state, d.set_aside_at FROM delivery d
        WHERE d.endpoint_id = asked.endpoint_id AND d.subject = asked.subject AND d.position >= e.ordered_from
        ORDER BY d.position LIMIT 1) first
    WHERE first.state = 'waiting' AND first.due_at = 'infinity' AND first.set_aside_at IS NULL))
RETURNING endpoint_id
