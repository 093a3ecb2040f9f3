-- numbered: the highest number of an endpoint, and its deliveries from the first one above a number on
-- Each part has an index; of what is still to be sent, the endpoint's own queue is read. What was erased has no body
-- that could be sent.
WITH first AS MATERIALIZED (
    SELECT least(
        (SELECT sequence FROM delivery_result WHERE endpoint_id = :endpoint_id AND workspace_id = :workspace
            AND sequence > :after ORDER BY sequence LIMIT 1),
        (SELECT min(sequence) FROM delivery WHERE endpoint_id = :endpoint_id AND workspace_id = :workspace
            AND state = 'waiting' AND sequence > :after),
        (SELECT min(sequence) FROM delivery WHERE endpoint_id = :endpoint_id AND workspace_id = :workspace
            AND state = 'queued' AND sequence > :after)) AS number
)
SELECT extract(epoch FROM now())::float8 AS at, first.number AS first,
    (SELECT last FROM endpoint_sequence s WHERE s.endpoint_id = :endpoint_id) AS highest,
    d.sequence, d.event_id, d.finished,
    d.state <> 'cancelled' AND (SELECT v.body <> '' FROM event v WHERE v.id = d.event_id) AS kept
FROM first LEFT JOIN LATERAL (
    SELECT event_id, sequence, state, true AS finished FROM delivery_result WHERE endpoint_id = :endpoint_id
      AND workspace_id = :workspace AND sequence BETWEEN first.number AND first.number + :most - 1
    UNION ALL SELECT event_id, sequence, state, false FROM delivery WHERE endpoint_id = :endpoint_id
      AND workspace_id = :workspace AND state = 'waiting' AND sequence BETWEEN first.number AND first.number + :most - 1
    UNION ALL SELECT event_id, sequence, state, false FROM delivery WHERE endpoint_id = :endpoint_id
      AND workspace_id = :workspace AND state = 'queued' AND sequence BETWEEN first.number AND first.number + :most - 1
) d ON true ORDER BY d.sequence
