-- days: the days that have partitions
SELECT to_date(right(c.relname, 8), 'YYYYMMDD') AS day FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
WHERE i.inhparent = 'event'::regclass AND c.relname ~ '_[0-9]{8}$' ORDER BY day

-- today: today, by the database's clock
SELECT (now() AT TIME ZONE 'UTC')::date

-- oldest_by_default: the oldest event of a day that had no partition when it came
SELECT id FROM event_default ORDER BY id LIMIT 1

-- delete_hours: delete plots past retention
DELETE FROM endpoint_hour WHERE hour < :earliest::date

-- make: make a day's partitions, and move into them what the default partition has of it
SELECT make_event_partitions(:day, :day)

-- drop: drop a day's partitions; what belongs to unfinished deliveries moves to the default partition
SELECT drop_event_partitions(:day)

-- try_lock: whether this process may work on partitions now: the lock ends with the transaction
SELECT pg_try_advisory_xact_lock(7223)

-- {ended}: events that were kept for deliveries that have ended by now
v.id < event_id_floor(:earliest) AND NOT EXISTS (SELECT 1 FROM delivery d WHERE d.event_id = v.id)
    AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.event_id = v.id)

-- lock_ended: lock those, but what somebody is sending again
SELECT id FROM event_default v WHERE {ended} ORDER BY id FOR UPDATE SKIP LOCKED

-- delete_events: delete those of them that are still to be sent to nobody
DELETE FROM event_default v WHERE v.id = ANY(:ids::text[]) AND {ended}

-- {without_event}: what belongs to events that are gone
v.event_id < event_id_floor(:earliest) AND NOT EXISTS (SELECT 1 FROM event_default e WHERE e.id = v.event_id)

-- delete_results: the same
DELETE FROM delivery_result_default v WHERE {without_event}

-- delete_attempts: the same
DELETE FROM attempt_default v WHERE {without_event}
