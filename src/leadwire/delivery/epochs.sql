-- {server}: the name of this server
(SELECT concat_ws('-', system_identifier, left(pg_walfile_name(pg_current_wal_insert_lsn()), 8),
    'event'::regclass::oid) FROM pg_control_system())

-- {latest}: the server that was noted last
(SELECT server FROM epoch ORDER BY first_position DESC LIMIT 1)

-- noted: whether this server is that one
SELECT {server} = {latest}

-- begin: begin an epoch, unless somebody else has
-- A process that was running may have recorded events on a standby that was promoted before it is noted: those are no
-- part of what it had. One that had replayed nothing had what was there when it started. What differs in more than its
-- timeline is a dump that was restored, with all that is there.
INSERT INTO epoch (first_position, server, last_event)
SELECT nextval('outbox_position'), {server},
    (SELECT max(id) FROM event WHERE recorded_at <= CASE
        WHEN regexp_replace({server}, '-.*-', '-') = regexp_replace({latest}, '-.*-', '-')
        THEN coalesce(pg_last_xact_replay_timestamp(), pg_postmaster_start_time()) ELSE 'infinity' END)
WHERE {server} IS DISTINCT FROM {latest}
RETURNING last_event, EXISTS (SELECT 1 FROM epoch) AS followed

-- begun
-- The epochs that followed one of another server.
SELECT started_at, last_event FROM (SELECT *, lag(server) OVER (ORDER BY first_position) AS before FROM epoch) epoch
WHERE before IS NOT NULL ORDER BY first_position DESC LIMIT 10

-- spans: the first position of each epoch, that of the next one, and the newest event before that
-- One before all is not noted.
SELECT first_position, lead(first_position) OVER up, lead(last_event, 1, 'evt_z') OVER up AS newest
FROM (SELECT first_position, last_event FROM epoch UNION ALL VALUES (0, NULL)) epoch
WINDOW up AS (ORDER BY first_position) ORDER BY first_position
