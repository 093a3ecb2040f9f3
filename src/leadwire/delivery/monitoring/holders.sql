-- held: what the gauges show, each value with the name of its gauge and a label
SELECT 'recording' AS gauge, '' AS label,
    coalesce(max(extract(epoch FROM clock_timestamp() - a.xact_start)), 0)::float8 AS value
FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid AND a.datid = l.database
WHERE l.relation = 'event'::regclass AND l.mode = 'RowExclusiveLock' AND l.granted AND a.datname = current_database()
