-- blockers: whoever makes others wait, and waits for nobody
-- Of other roles' sessions only members of pg_monitor are told more than who it is.
SELECT b.pid, concat_ws(', ', coalesce(nullif(b.application_name, ''), b.backend_type), 'user ' || b.usename, b.state,
        'open for ' || extract(epoch FROM clock_timestamp() - b.xact_start)::int || ' s') AS who,
    CASE b.query WHEN '<insufficient privilege>' THEN 'what it does is shown to members of pg_monitor alone'
        ELSE left(regexp_replace(b.query, '\s+', ' ', 'g'), 80) END AS statement, count(*) AS waiting
FROM pg_stat_activity w CROSS JOIN LATERAL unnest(pg_blocking_pids(w.pid)) AS blocker (pid)
JOIN pg_stat_activity b ON b.pid = blocker.pid AND b.wait_event_type IS DISTINCT FROM 'Lock'
WHERE w.wait_event_type = 'Lock' AND w.datname = current_database()
    AND clock_timestamp() - w.query_start > :longer * interval '1 second'
GROUP BY b.pid, 2, 3, b.xact_start ORDER BY waiting DESC, b.xact_start
