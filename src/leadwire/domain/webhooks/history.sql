-- newest: events of some kinds, newest first, by their ids
-- `before`, `since` and `until` are event ids. They choose partitions; ALL keeps the planner from thinking that so few
-- events are between them that the order in which the index of the change feed has them is of no use.
SELECT newest.id FROM unnest(:kinds::text[]) AS wanted(kind), LATERAL (
    SELECT v.id, v.xact FROM event v
    WHERE v.workspace_id = :workspace AND v.kind = wanted.kind
        AND v.id < ALL(ARRAY[:before, :until]::text[]) AND v.id >= ALL(ARRAY[:since]::text[])
    ORDER BY v.xact DESC LIMIT :limit) AS newest
ORDER BY newest.id DESC LIMIT :limit

-- unfinished: events with a delivery that is unfinished
SELECT DISTINCT d.event_id AS id FROM webhook_endpoint e, LATERAL (
    (SELECT event_id FROM delivery d WHERE d.endpoint_id = e.id AND d.state = 'waiting' ORDER BY d.due_at LIMIT :limit)
    UNION ALL
    (SELECT event_id FROM delivery d WHERE d.endpoint_id = e.id AND d.state = 'queued' LIMIT :limit)) AS d
WHERE e.workspace_id = :workspace AND d.event_id < :before AND d.event_id >= :since AND d.event_id < :until
ORDER BY id DESC LIMIT :limit

-- dead: events with a dead letter
SELECT DISTINCT d.event_id AS id FROM webhook_endpoint e, LATERAL (
    SELECT d.event_id FROM delivery_result d
    WHERE d.workspace_id = :workspace AND d.endpoint_id = e.id AND d.state = 'dead'
        AND d.event_id < :before AND d.event_id >= :since AND d.event_id < :until
    ORDER BY d.event_id DESC LIMIT :limit) AS d
WHERE e.workspace_id = :workspace ORDER BY id DESC LIMIT :limit

-- itself: the event with this id
SELECT id FROM event WHERE workspace_id = :workspace AND id = :subject AND id < :before AND id >= :since
    AND id < :until AND kind = ANY(:kinds)
