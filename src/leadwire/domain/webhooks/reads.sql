-- numbered: the events whose deliveries to an endpoint have these numbers
SELECT event_id FROM every_delivery WHERE endpoint_id = :endpoint_id AND sequence BETWEEN :first AND :last
ORDER BY sequence

-- states: how the deliveries of some events stand; the range of ids leaves out the partitions of other days
SELECT event_id, endpoint_id, exact_state, (SELECT url FROM webhook_endpoint e WHERE e.id = endpoint_id)
FROM every_delivery
WHERE workspace_id = :workspace AND event_id = ANY(:events) AND event_id >= :first AND event_id <= :last
