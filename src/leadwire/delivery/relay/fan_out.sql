-- positions: the last position that was given, and that of the oldest event that is to be relayed
SELECT last_value AS given, (SELECT min(position) FROM outbox WHERE set_aside_at IS NULL) AS oldest FROM outbox_position

-- busy: the next workspaces that have events, from one to the next along the index, without those that rest
WITH RECURSIVE busy(workspace_id, place) AS (
    (SELECT workspace_id, 1 FROM outbox WHERE workspace_id > :after AND position >= :since AND set_aside_at IS NULL
        AND NOT workspace_id = ANY(:resting::text[]) ORDER BY workspace_id LIMIT 1)
    UNION ALL
    SELECT (SELECT o.workspace_id FROM outbox o
        WHERE o.workspace_id > busy.workspace_id AND o.position >= :since AND o.set_aside_at IS NULL
          AND NOT o.workspace_id = ANY(:resting::text[]) ORDER BY o.workspace_id LIMIT 1), place + 1
    FROM busy WHERE busy.workspace_id IS NOT NULL AND place < :most
)
SELECT workspace_id FROM busy WHERE workspace_id IS NOT NULL

-- have: whether this relay has the workspace, until the transaction ends
SELECT pg_try_advisory_xact_lock(7224, hashtext(:workspace)), set_config('lock_timeout', :patience, true)

-- closed: the endpoints whose deliveries are going to wait
SELECT id FROM webhook_endpoint WHERE workspace_id = :workspace AND NOT open

-- front: the first events of a workspace that neither rest nor are of the subject of one that does
SELECT o.event_id FROM outbox o WHERE o.workspace_id = :workspace AND o.position >= :since AND o.set_aside_at IS NULL
  AND coalesce(o.subject, o.event_id) NOT IN (
    SELECT coalesce(r.subject, r.event_id) FROM outbox r WHERE r.event_id = ANY(:resting::text[]))
ORDER BY o.position LIMIT :most

-- fan_out: make deliveries of a batch of events, or of one, and take them from the outbox
-- What rests stays, and what is of its subject. Those of :closed endpoints wait: for their receiver to fetch them,
-- behind others, for their rate, or in order, where only the first of a subject is due. Those of others are queued.
WITH batch AS (
    DELETE FROM outbox WHERE event_id = ANY(ARRAY(
        SELECT o.event_id FROM outbox o
        WHERE o.workspace_id = :workspace AND o.position >= :since AND o.set_aside_at IS NULL
          AND (:event_id::text IS NULL OR o.event_id = :event_id)
          AND coalesce(o.subject, o.event_id) NOT IN (
            SELECT coalesce(r.subject, r.event_id) FROM outbox r WHERE r.event_id = ANY(:resting::text[]))
        ORDER BY o.position
        LIMIT greatest(1, :deliveries / greatest(1, (
            SELECT count(*) FROM webhook_endpoint e WHERE e.workspace_id = :workspace AND e.enabled))) FOR UPDATE))
    RETURNING *
), pair AS (
    SELECT b.event_id, e.id AS endpoint_id, e.workspace_id, b.test_endpoint_id IS NOT NULL AS test, b.position,
        e.url LIKE 'pull:%' OR b.test_endpoint_id IS NULL AND e.id = ANY(:closed::text[]) AS waits,
        CASE WHEN e.ordered AND b.test_endpoint_id IS NULL AND e.id = ANY(:closed::text[]) THEN b.subject END AS subject,
        e.ordered_from
    FROM batch b JOIN webhook_endpoint e ON e.workspace_id = b.workspace_id AND CASE
        WHEN b.test_endpoint_id IS NULL THEN e.enabled AND b.kind = ANY(e.events) AND e.id IS DISTINCT FROM b.subject
            AND (e.filter_path IS NULL
                OR passes_filter(e.filter_path, (SELECT v.body FROM event v WHERE v.id = b.event_id)))
        ELSE e.id = b.test_endpoint_id END
), placed AS (
    SELECT pair.*, subject IS NOT NULL AND (
        row_number() OVER (PARTITION BY endpoint_id, subject ORDER BY position) > 1
        OR (SELECT d.position FROM delivery d WHERE d.endpoint_id = pair.endpoint_id AND d.subject = pair.subject
            AND d.position >= ordered_from ORDER BY d.position LIMIT 1) IS NOT NULL) AS behind
    FROM pair
), lowered AS (
    UPDATE webhook_endpoint e SET ordered_from = first.position FROM (
        SELECT endpoint_id, min(position) AS position FROM pair WHERE subject IS NOT NULL GROUP BY endpoint_id) first
    WHERE e.id = first.endpoint_id AND e.ordered_from > first.position
), made AS (
    INSERT INTO delivery (event_id, endpoint_id, workspace_id, state, test, subject, position, due_at, queued_at)
    SELECT event_id, endpoint_id, workspace_id, CASE WHEN waits THEN 'waiting' ELSE 'queued' END, test, subject,
        CASE WHEN subject IS NOT NULL THEN position END, CASE WHEN behind THEN 'infinity' ELSE now() END,
        CASE WHEN NOT waits THEN now() END
    FROM placed ON CONFLICT DO NOTHING RETURNING event_id, endpoint_id, state, test
)
SELECT extract(epoch FROM clock_timestamp() - recorded_at)::float8 AS age, event_id, NULL AS endpoint_id,
    NULL AS state, NULL AS test FROM batch
UNION ALL SELECT NULL, event_id, endpoint_id, state, test FROM made

-- set_aside: keep events, whose deliveries cannot be made, from being tried again
UPDATE outbox SET set_aside_at = now(), error = :error WHERE event_id = :event_id

-- release: let events that were set aside be tried again, one or all
UPDATE outbox SET set_aside_at = NULL
WHERE set_aside_at IS NOT NULL AND (:event_id::text IS NULL OR event_id = :event_id) RETURNING 1

-- listed
SELECT event_id, kind, error FROM outbox WHERE set_aside_at IS NOT NULL ORDER BY set_aside_at, event_id
