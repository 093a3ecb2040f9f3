-- newest: events of some kinds and one epoch, newest first, by their ids
-- What an earlier server recorded may have a later xact than this one has come to: it is passed by without being read.
-- `before`, `since` and `until` are event ids. They choose partitions; ALL keeps the planner from thinking that so few
-- events are between them that the order in which the index of the change feed has them is of no use.
SELECT newest.id FROM unnest(:kinds::text[]) AS wanted(kind), LATERAL (
    SELECT v.id, v.xact FROM event v
    WHERE v.workspace_id = :workspace AND v.kind = wanted.kind
        AND v.id < ALL(ARRAY[:before, :until]::text[]) AND v.id >= ALL(ARRAY[:since]::text[])
        AND v.position >= :first::bigint AND (:end::bigint IS NULL OR v.position < :end)
        AND v.xact < CASE WHEN :end IS NULL THEN pg_snapshot_xmax(pg_current_snapshot()) ELSE '9223372036854775807' END
    ORDER BY v.xact DESC LIMIT :limit) AS newest
ORDER BY newest.id DESC LIMIT :limit

-- {newer}: the latest of an endpoint's deliveries
d.event_id < :before AND d.event_id >= :since AND d.event_id < :until ORDER BY d.event_id DESC LIMIT :limit

-- {of_endpoints}: of one endpoint, or of all of the workspace
e.workspace_id = :workspace AND (:endpoint_id = '' OR e.id = :endpoint_id) ORDER BY id DESC LIMIT :limit

-- unfinished: events with a delivery that is unfinished
SELECT DISTINCT d.event_id AS id FROM webhook_endpoint e, LATERAL (
    (SELECT d.event_id FROM delivery d WHERE d.endpoint_id = e.id AND d.state = 'waiting' AND {newer})
    UNION ALL
    (SELECT d.event_id FROM delivery d WHERE d.endpoint_id = e.id AND d.state = 'queued' AND {newer})) AS d
WHERE {of_endpoints}

-- dead: events with a dead letter
SELECT DISTINCT d.event_id AS id FROM webhook_endpoint e, LATERAL (
    SELECT d.event_id FROM delivery_result d
    WHERE d.workspace_id = :workspace AND d.endpoint_id = e.id AND d.state = 'dead'
        AND {newer}) AS d
WHERE {of_endpoints}

-- itself: the event with this id
SELECT id FROM event WHERE workspace_id = :workspace AND id = :subject AND id < :before AND id >= :since
    AND id < :until AND kind = ANY(:kinds)

-- {shown}
d.event_id, d.endpoint_id, v.kind, d.exact_state, d.attempts, d.last_outcome, v.occurred_at,
    d.due_at, d.finished_at, d.test, coalesce(v.lead_id, v.conversation_id) AS subject

-- page: the deliveries of some events, with the last attempt of each
-- All of the last event: a page begins with another.
SELECT * FROM (SELECT {shown}, e.url, e.enabled, last.duration_ms, last.http_status
FROM every_delivery d JOIN event v ON v.id = d.event_id
LEFT JOIN webhook_endpoint e ON e.id = d.endpoint_id
LEFT JOIN LATERAL (SELECT a.duration_ms, a.http_status FROM attempt a WHERE a.event_id = d.event_id
    AND a.endpoint_id = d.endpoint_id ORDER BY a.started_at DESC LIMIT 1) AS last ON true
WHERE d.event_id = ANY(:events) AND v.id = ANY(:events) AND d.workspace_id = :workspace AND d.event_id >= :oldest
  AND (:endpoint_id = '' OR d.endpoint_id = :endpoint_id) AND (:states::text[] IS NULL OR d.state = ANY(:states))
  AND (:outcome = '' OR d.last_outcome = :outcome) AND (:tests OR NOT d.test) AND v.kind = ANY(:kinds)
ORDER BY d.event_id DESC FETCH FIRST :limit ROWS WITH TIES) AS whole ORDER BY event_id DESC, endpoint_id

-- {among}: of the events `about` something, those that are asked for
SELECT id FROM about WHERE id < :before AND id >= :since AND id < :until AND kind = ANY(:kinds)
ORDER BY id DESC LIMIT :limit

-- about_lead
-- Materialized: else the planner may read every event there is, in the order of their ids, until it has found enough.
WITH about AS MATERIALIZED (SELECT id, kind FROM event WHERE workspace_id = :workspace AND lead_id = :subject) {among}

-- about_conversation
WITH about AS MATERIALIZED (SELECT id, kind FROM event WHERE workspace_id = :workspace AND conversation_id = :subject)
{among}
