-- lock: lock what this worker has claimed, so that none goes away once numbers are counted
-- What somebody else has locked is being erased or canceled, and an endpoint that is gone, or is being deleted, gets no
-- numbers.
SELECT d.event_id, d.endpoint_id, d.sequence
FROM {asked}
CROSS JOIN LATERAL (
    SELECT * FROM delivery d WHERE d.event_id = asked.event_id AND d.endpoint_id = asked.endpoint_id
      AND d.attempts = asked.attempts AND d.owner = :owner AND d.state = 'queued'
      AND EXISTS (SELECT 1 FROM webhook_endpoint e WHERE e.id = d.endpoint_id FOR KEY SHARE SKIP LOCKED)
    FOR UPDATE SKIP LOCKED) d

-- number: give locked deliveries the next numbers of their endpoints
-- Another worker that numbers waits for the commit, and so the numbers that it gets come after these.
WITH locked AS (
    SELECT *, row_number() OVER (PARTITION BY endpoint_id ORDER BY event_id) - count(*) OVER (PARTITION BY endpoint_id)
        AS place
    FROM unnest(:events::text[], :endpoints::text[]) AS locked(event_id, endpoint_id)
), taken AS (
    INSERT INTO endpoint_sequence AS s (endpoint_id, last)
    SELECT endpoint_id, count(*) FROM locked GROUP BY endpoint_id ORDER BY endpoint_id
    ON CONFLICT (endpoint_id) DO UPDATE SET last = s.last + EXCLUDED.last RETURNING s.endpoint_id, s.last
)
UPDATE delivery d SET sequence = taken.last + locked.place FROM locked JOIN taken USING (endpoint_id)
WHERE d.event_id = ANY(:events::text[]) AND d.event_id = locked.event_id AND d.endpoint_id = locked.endpoint_id
RETURNING d.event_id, d.endpoint_id, d.sequence
