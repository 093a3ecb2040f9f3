-- now: the database's time
-- To be taken before the streams are read: then a pause between the two makes nothing look lost.
SELECT now()

-- {lost}: queued deliveries that neither a worker nor a receiver (`pull`) holds, and of which no entry was read
-- They are older than the oldest unread entry of their stream, by more than the slack.
FROM delivery d JOIN unnest(:shards::int[], :ages::float8[]) AS stream(shard, age)
    ON ('x' || substr(md5(d.endpoint_id), 1, 4))::bit(16)::int % :count = stream.shard
WHERE d.state = 'queued'
  AND d.queued_at < :now::timestamptz - (stream.age + :slack) * interval '1 second'
  AND (d.owner IS NULL OR d.lease_until < now() - :grace * interval '1 second' AND CASE WHEN d.owner LIKE 'pull:%'
    THEN NOT EXISTS (SELECT 1 FROM webhook_endpoint e WHERE e.id = d.endpoint_id)
    ELSE d.owner <> ALL(:alive::text[]) END)
  AND d.event_id || d.endpoint_id || d.attempts NOT IN (SELECT unnest(:pending::text[]))

-- lock: lock some of them
SELECT d.event_id, d.endpoint_id, d.attempts {lost} AND NOT d.endpoint_id = ANY(:resting::text[])
LIMIT :batch FOR UPDATE OF d SKIP LOCKED

-- reconcile: they count as queued from now on, and are nobody's
UPDATE delivery d SET queued_at = now(), owner = NULL, lease_until = NULL
FROM unnest(:events::text[], :endpoints::text[]) AS lost (event_id, endpoint_id)
WHERE d.event_id = ANY(:events::text[]) AND d.event_id = lost.event_id AND d.endpoint_id = lost.endpoint_id

-- count: how many there are
SELECT count(*) {lost}
