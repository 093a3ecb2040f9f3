-- blockers: whoever makes others wait, and waits for nobody
SELECT b.pid, coalesce(nullif(b.application_name, ''), b.usename, b.backend_type) AS name, b.state,
    extract(epoch FROM clock_timestamp() - b.xact_start)::int AS seconds,
    left(regexp_replace(b.query, '\s+', ' ', 'g'), 80) AS statement, count(*) AS waiting
FROM pg_stat_activity w CROSS JOIN LATERAL unnest(pg_blocking_pids(w.pid)) AS blocker (pid)
JOIN pg_stat_activity b ON b.pid = blocker.pid AND b.wait_event_type IS DISTINCT FROM 'Lock'
WHERE w.wait_event_type = 'Lock' AND w.datname = current_database()
    AND clock_timestamp() - w.query_start > :longer * interval '1 second'
GROUP BY b.pid, 2, b.state, b.xact_start, b.query ORDER BY waiting DESC, seconds DESC
