-- release: release what this worker has claimed and is not at work on any more
UPDATE delivery SET owner = NULL, lease_until = NULL
WHERE state = 'queued' AND owner = :owner AND lease_until < now()
  AND (event_id, endpoint_id, attempts) NOT IN (
      SELECT * FROM unnest(:events::text[], :endpoints::text[], :attempts::smallint[]))

-- narrow: queue no more deliveries of an endpoint at a time than it may have POSTs, and those not at once
UPDATE webhook_endpoint e SET admission_window = greatest(1, least(256, asked.posts)),
    due_at = now() + asked.pause * interval '1 second'
FROM unnest(:endpoints::text[], :posts::int[], :pauses::float8[]) AS asked(endpoint_id, posts, pause)
WHERE e.id = asked.endpoint_id
