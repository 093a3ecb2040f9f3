-- patience: what a change needs is taken within 2 seconds
SELECT set_config('lock_timeout', '2s', true)

-- tables: what every change needs: the locks of a change on each table of ours
SELECT string_agg(format('%I', c.relname), ', ' ORDER BY c.relname) FROM pg_class c
WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relnamespace = to_regnamespace('public')
    AND has_table_privilege(c.oid, 'INSERT')

-- fill: and room on the disk, 1.8 MB
CREATE TEMPORARY TABLE probe ON COMMIT DROP AS SELECT generate_series(1, 50000)

-- archiver: whether it was refused since it last succeeded
SELECT last_failed_wal, extract(epoch FROM now() - last_failed_time)::int AS seconds FROM pg_stat_archiver
WHERE last_failed_time > coalesce(last_archived_time, '-infinity') AND current_setting('archive_mode') <> 'off'

-- age: the oldest database, in transactions
SELECT datname, age(datfrozenxid) AS age FROM pg_database ORDER BY age DESC LIMIT 1
