-- {last_end}: were a delivery to have ended before as well, the last end counts, and the attempts of both
-- As after a redrive. So no row can refuse to end.
ON CONFLICT (event_id, endpoint_id) DO UPDATE SET state = EXCLUDED.state, generation = EXCLUDED.generation,
    created_at = EXCLUDED.created_at, finished_at = EXCLUDED.finished_at, last_outcome = EXCLUDED.last_outcome,
    sequence = EXCLUDED.sequence, attempts = EXCLUDED.attempts
        + CASE WHEN delivery_result.generation = EXCLUDED.generation THEN delivery_result.attempts ELSE 0 END

-- {end_canceled}: keep how those ended that a CTE `canceled` has taken from `delivery`
INSERT INTO delivery_result (event_id, endpoint_id, workspace_id, state, attempts, generation, test, created_at,
    finished_at, last_outcome, sequence)
SELECT event_id, endpoint_id, workspace_id, 'cancelled', attempts, generation, test, created_at, now(), last_outcome,
    sequence
FROM canceled
{last_end}

-- {behind}: another of its subject that comes before it is unfinished, by `d`
EXISTS (SELECT 1 FROM delivery f WHERE f.endpoint_id = d.endpoint_id AND f.subject = d.subject
    AND f.position < d.position AND f.position >= (
        SELECT e.ordered_from FROM webhook_endpoint e WHERE e.id = d.endpoint_id))

-- {one_queued}: one of its subject may be on its way: whoever ends it releases the first of those that wait
EXISTS (SELECT 1 FROM delivery q WHERE q.endpoint_id = d.endpoint_id AND q.subject = d.subject AND q.state = 'queued')

-- {asked}: the deliveries that values of `claim.asked` name
unnest(:events::text[], :endpoints::text[], :attempts::smallint[]) AS asked(event_id, endpoint_id, attempts)

-- {free}: nobody has it, or this worker, or one that is gone
-- The lease holds for one that wakes up and claims at that moment.
(d.owner IS NULL OR d.owner = :owner OR d.owner = ANY(:gone::text[]) AND d.lease_until < now())
