-- claim: take what the entries name, and return all that is needed to send it
-- The body is read from the one day that its id names, whose table takes the place of `event`. A claim that a crash of
-- PostgreSQL forgets is made again, so its commit need not wait for the disk. What somebody else has locked is most
-- likely being claimed, recorded or erased: nobody waits for it here.
WITH asked AS (SELECT * FROM {asked}), claimed AS (
    UPDATE delivery SET owner = :owner, lease_until = now() + :lease * interval '1 second'
    WHERE ctid = ANY(ARRAY(SELECT d.ctid FROM asked CROSS JOIN LATERAL (
        SELECT d.ctid FROM delivery d
        WHERE d.event_id = asked.event_id AND d.endpoint_id = asked.endpoint_id AND d.attempts = asked.attempts
          AND d.state = 'queued' AND {free}
        FOR UPDATE SKIP LOCKED) d))
    RETURNING *
)
SELECT d.event_id, d.endpoint_id, d.attempts, e.url IS NULL OR coalesce(v.body, '') = '',
    (d.test OR e.enabled AND coalesce(e.paused_until, now()) <= now()) AND e.url NOT LIKE 'pull:%',
    e.secret, e.staged_secret, e.signing_key, e.headers, e.certificate,
    d.generation, d.test, d.subject, e.url, NOT e.open OR e.failing_since IS NOT NULL OR e.admission_window < 256,
    convert_to(v.body, 'UTF8'), v.traceparent, d.workspace_id, e.numbered AND NOT d.test, d.sequence,
    extract(epoch FROM d.created_at - v.recorded_at)::float8, extract(epoch FROM now() - d.queued_at)::float8,
    extract(epoch FROM now() - v.recorded_at)::float8, v.subject, extract(epoch FROM now())::float8
FROM claimed d CROSS JOIN (SELECT set_config('synchronous_commit', 'off', true)) AS fast
LEFT JOIN webhook_endpoint e ON e.id = d.endpoint_id
LEFT JOIN event v ON v.id = d.event_id

-- locked: what could be claimed, as far as is committed: where the claim passed it over, somebody has locked its row
SELECT d.event_id, d.endpoint_id, d.attempts FROM {asked} JOIN delivery d
    ON d.event_id = asked.event_id AND d.endpoint_id = asked.endpoint_id AND d.attempts = asked.attempts
WHERE d.event_id = ANY(:events::text[]) AND d.state = 'queued' AND {free}

-- cancel: what cannot be sent any more: its endpoint was removed, or its event erased
WITH canceled AS (
    DELETE FROM delivery d USING {asked}
    WHERE d.event_id = ANY(:events::text[]) AND d.event_id = asked.event_id AND d.endpoint_id = asked.endpoint_id
      AND d.owner = :owner AND d.attempts = asked.attempts RETURNING d.*
)
{end_canceled}

-- put_back: what is not to be sent now waits, also for what was redriven before it in its order
UPDATE delivery d SET state = 'waiting', queued_at = NULL, owner = NULL, lease_until = NULL,
    due_at = CASE WHEN {behind} THEN 'infinity' ELSE d.due_at END
FROM {asked}
WHERE d.event_id = ANY(:events::text[]) AND d.event_id = asked.event_id AND d.endpoint_id = asked.endpoint_id
  AND d.attempts = asked.attempts AND d.state = 'queued' AND coalesce(d.owner, :owner) = :owner
RETURNING d.endpoint_id, d.subject

-- release: what this worker has claimed and is not at work on any more
UPDATE delivery SET owner = NULL, lease_until = NULL
WHERE state = 'queued' AND owner = :owner AND lease_until < now()
  AND (event_id, endpoint_id, attempts) NOT IN (
      SELECT * FROM unnest(:events::text[], :endpoints::text[], :attempts::smallint[]))

-- narrow: no more deliveries of an endpoint are queued at a time than it may have POSTs, and those not at once
UPDATE webhook_endpoint e SET admission_window = greatest(1, least(256, asked.posts)),
    due_at = now() + asked.pause * interval '1 second'
FROM unnest(:endpoints::text[], :posts::int[], :pauses::float8[]) AS asked(endpoint_id, posts, pause)
WHERE e.id = asked.endpoint_id
