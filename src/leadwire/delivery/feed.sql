-- {locks}: what `oldest` reads, for WITH: it asks the server only when it is read
locks AS MATERIALIZED (
    SELECT virtualtransaction, transactionid, relation FROM pg_locks
    WHERE granted AND (locktype = 'transactionid' AND mode = 'ExclusiveLock' OR mode = 'RowExclusiveLock'
        AND relation = 'event'::regclass
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())))

-- {oldest}: the lowest `xact` that an event may have which the statement does not see; what is below is complete
-- An event's `xact` is at least the number of the transaction that wrote it, and at least that of the last one that had
-- ended when it was written. So whatever has yet to be recorded comes behind all that a snapshot shows. Only a
-- transaction that has recorded an event and was open in the snapshot may come before: it holds a lock on `event` until
-- it ends.
-- Locks are read after the snapshot was taken, and a transaction that ends gives up its locks one by one. So one passes
-- only if it is seen to be open after its locks were read; one that has ended meanwhile is waited for until the next
-- look. A standby does not know the locks of its primary.
CASE WHEN pg_is_in_recovery() THEN pg_snapshot_xmin(pg_current_snapshot()) ELSE coalesce((
    SELECT open.xact FROM pg_snapshot_xip(pg_current_snapshot()) AS open (xact)
    WHERE CASE WHEN EXISTS (
            SELECT 1 FROM locks own WHERE own.transactionid = open.xact::xid AND own.virtualtransaction <> ALL (
                SELECT virtualtransaction FROM locks WHERE relation IS NOT NULL))
        THEN pg_xact_status(open.xact) IS DISTINCT FROM 'in progress' ELSE true END
    ORDER BY open.xact LIMIT 1), pg_snapshot_xmax(pg_current_snapshot())) END

-- read: the events of an epoch after a place in it, and since when those that are held back are
-- Only in the present epoch, which has no end, transactions are open. The server is asked for locks only where some
-- are as new as its oldest one.
WITH {locks}
SELECT id, event.kind, occurred_at, body, CASE WHEN :end::bigint IS NULL
    AND xact >= pg_snapshot_xmin(pg_current_snapshot())
    AND xact >= (SELECT {oldest}) THEN recorded_at END AS held_back_since
FROM unnest(:kinds::text[]) AS known (kind) CROSS JOIN LATERAL (
    SELECT xact, position, id, kind, occurred_at, body, recorded_at FROM event v
    WHERE workspace_id = :workspace AND v.kind = known.kind AND id >= :floor::text
      AND test_endpoint_id IS NULL AND body <> ''
      AND position >= :first::bigint AND (:end::bigint IS NULL OR position < :end)
      AND (xact, position) > (:xact::text::xid8, :position::bigint)
    ORDER BY xact, position LIMIT :limit
) event ORDER BY xact, position LIMIT :limit

-- place: an event's place in the feed, empty without it
SELECT xact::text, position, pg_is_in_recovery() AS standby
FROM (SELECT) AS one LEFT JOIN event ON workspace_id = :workspace AND id = :id

-- one: an event that the feed has
SELECT id, kind, occurred_at, body FROM event
WHERE workspace_id = :workspace AND id = :id AND kind = ANY(:kinds) AND test_endpoint_id IS NULL AND body <> ''

-- {columns}: of an event about somebody
SELECT id, kind, occurred_at, body, actor FROM event WHERE workspace_id = :workspace AND

-- {latest}: the latest of those
-- Materialized: else the planner may read every event there is, in the order of their ids, until it has found enough.
SELECT * FROM about ORDER BY id DESC LIMIT :most

-- about_lead: the latest events about a lead
WITH about AS MATERIALIZED ({columns} lead_id = :subject) {latest}

-- readdressed
WITH about AS MATERIALIZED ({columns} lead_id = :lead_id)
SELECT body FROM about WHERE kind = 'lead.updated' AND body ~ '"previous_attributes":.*"(email|phone)":'

-- about_conversation: the latest about a conversation
WITH about AS MATERIALIZED ({columns} conversation_id = :subject) {latest}

-- check_table
SELECT EXISTS (SELECT 1 FROM event)
