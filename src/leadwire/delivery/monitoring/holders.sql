-- held: values of gauges: the age of the oldest transaction that has recorded an event; dead rows of tables of open work
SELECT 'recording' AS gauge, '' AS label,
    coalesce(max(extract(epoch FROM clock_timestamp() - a.xact_start)), 0)::float8 AS value
FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid AND a.datid = l.database
WHERE l.relation = 'event'::regclass AND l.mode = 'RowExclusiveLock' AND l.granted AND a.datname = current_database()
UNION ALL
SELECT 'dead', name::text, pg_stat_get_dead_tuples(name)
FROM unnest('{delivery,job,outbox,webhook_endpoint}'::regclass[]) AS open_work (name)

-- holders
-- A snapshot in another database is none of ours, but numbers of its transactions are. Vacuum ignores itself.
SELECT * FROM (
    SELECT CASE backend_type WHEN 'walsender' THEN 'standby' ELSE 'transaction' END AS kind, 'pid ' || pid AS name,
        concat_ws(', ', nullif(application_name, ''), 'user ' || usename, 'database ' || datname, state) AS about,
        greatest(age(backend_xid), CASE WHEN datid IS NULL OR datname = current_database() THEN age(backend_xmin) END)
            AS transactions,
        extract(epoch FROM clock_timestamp() - xact_start)::float8 AS seconds, NULL::bigint AS wal,
        left(regexp_replace(query, '\s+', ' ', 'g'), 60) AS query
    FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type NOT LIKE 'autovacuum%'
    UNION ALL
    SELECT 'prepared', gid, concat_ws(', ', 'user ' || owner, 'database ' || database), age(transaction),
        extract(epoch FROM clock_timestamp() - prepared)::float8, NULL, ''
    FROM pg_prepared_xacts
    UNION ALL
    SELECT 'slot', slot_name, CASE WHEN active THEN 'in use' ELSE 'not in use' END, age(xmin), NULL,
        CASE WHEN NOT pg_is_in_recovery() THEN pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)::bigint END, ''
    FROM pg_replication_slots
) holder WHERE transactions IS NOT NULL OR wal IS NOT NULL OR about LIKE '%idle in transaction%'
ORDER BY transactions DESC NULLS LAST, seconds DESC NULLS LAST

-- files: where the server's files are, on this machine; superusers and pg_read_all_settings alone are told
SELECT setting FROM pg_settings WHERE name = 'data_directory'
    AND (inet_server_addr() IS NULL OR inet_server_addr() = inet_client_addr())
