-- The checks of the ledger. Each statement counts what breaks one rule; above it are the rule's name and its meaning.
-- :since is the lowest event id that is checked, :attempts how many the retry schedule gives. A change of an endpoint
-- may take 5 seconds to commit; what is under way for less than 60 seconds does not count as stuck.

-- relayed_without_delivery: relayed events whose subscribed endpoint has no delivery
SELECT count(*) FROM event v JOIN webhook_endpoint e ON e.workspace_id = v.workspace_id
  AND e.enabled AND v.kind = ANY(e.events) AND v.test_endpoint_id IS NULL AND e.id IS DISTINCT FROM v.subject
WHERE v.id >= :since AND v.recorded_at > e.updated_at + interval '5 seconds'
  AND v.recorded_at < now() - interval '60 seconds' AND v.body <> ''
  AND (e.filter_path IS NULL OR passes_filter(e.filter_path, v.body))
  AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.event_id = v.id)
  AND NOT EXISTS (SELECT 1 FROM every_delivery d WHERE d.event_id = v.id AND d.endpoint_id = e.id)

-- overdue_with_room: deliveries waiting past their time although nothing of their endpoint holds them
SELECT count(*) FROM delivery d JOIN webhook_endpoint e ON e.id = d.endpoint_id AND e.enabled
WHERE d.event_id >= :since AND d.state = 'waiting' AND d.due_at < now() - interval '60 seconds'
  AND e.url NOT LIKE 'pull:%' AND NOT (e.ordered OR e.new_host) AND e.rate_limit IS NULL AND coalesce(e.paused_until, now()) <= now()
  AND e.admission_window > (SELECT count(*) FROM delivery q WHERE q.endpoint_id = e.id AND q.state = 'queued')

-- due_and_not_looked_at: deliveries waiting past their time although the relay will not look at their endpoint
SELECT count(*) FROM delivery d JOIN webhook_endpoint e ON e.id = d.endpoint_id AND e.enabled
WHERE d.event_id >= :since AND d.state = 'waiting' AND d.due_at < now() - interval '60 seconds'
  AND e.due_at = 'infinity' AND e.paused_until IS DISTINCT FROM 'infinity' AND e.url NOT LIKE 'pull:%'

-- behind_nobody: deliveries that wait until others of their subject have ended although none of them is to be sent
SELECT count(*) FROM delivery d WHERE d.event_id >= :since AND d.state = 'waiting' AND d.due_at = 'infinity'
  AND d.set_aside_at IS NULL AND NOT EXISTS (SELECT 1 FROM job j WHERE j.kind = 'discard' AND j.key = d.endpoint_id)
  AND NOT EXISTS (SELECT 1 FROM delivery f WHERE f.endpoint_id = d.endpoint_id AND f.subject = d.subject
    AND (f.due_at < 'infinity' OR f.state = 'queued' OR f.set_aside_at IS NOT NULL))

-- open_and_ended: deliveries that are still to be sent and have ended at once
SELECT count(*) FROM delivery d JOIN delivery_result r USING (event_id, endpoint_id) WHERE d.event_id >= :since

-- delivered_without_2xx: deliveries marked delivered without a 2xx attempt
SELECT count(*) FROM delivery_result d WHERE d.event_id >= :since AND d.state = 'delivered'
  AND NOT EXISTS (SELECT 1 FROM attempt a WHERE a.event_id = d.event_id AND a.endpoint_id = d.endpoint_id
    AND a.generation = d.generation AND a.counted AND a.outcome = 'delivered')

-- dead_too_early: dead letters with fewer attempts than the schedule gives, and no 410
SELECT count(*) FROM delivery_result d WHERE d.event_id >= :since AND d.state = 'dead' AND NOT d.test
  AND (SELECT count(*) + :attempts::int * count(*) FILTER (WHERE a.outcome = 'gone') FROM attempt a
    WHERE a.event_id = d.event_id AND a.endpoint_id = d.endpoint_id
      AND a.generation = d.generation AND a.counted) < :attempts::int

-- too_many_attempts: deliveries with more counted attempts in a generation than they know of
SELECT count(*) FROM every_delivery d WHERE d.event_id >= :since
  AND (SELECT count(*) FROM attempt a WHERE a.event_id = d.event_id AND a.endpoint_id = d.endpoint_id
    AND a.generation = d.generation AND a.counted) > d.attempts
