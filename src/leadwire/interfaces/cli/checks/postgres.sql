-- standbys: those that follow this server
-- Without the rights of pg_monitor there is a row for each, and nothing in it.
SELECT coalesce(nullif(application_name, ''), client_addr::text, 'a standby') AS name, sync_state,
    coalesce(state, 'streaming') AS state, coalesce(pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery()
        THEN pg_last_wal_receive_lsn() ELSE pg_current_wal_lsn() END, replay_lsn), 0)::bigint AS behind
FROM pg_stat_replication WHERE state IS NULL OR state IN ('catchup', 'streaming') ORDER BY 1

-- role: who we are to the server, and whether the audit log is safe from us
SELECT current_user AS name, pg_has_role('pg_monitor', 'USAGE') AS monitors,
    CASE WHEN row_security_active('audit_entry') THEN ' may only add to the audit log'
    ELSE ' owns the tables, and could change the audit log' END AS says

-- rights: what it lacks of what `infrastructure/db/rights.py` gives
SELECT string_agg(privilege || ' of ' || relname, ', ' ORDER BY relname, privilege)
FROM pg_class, unnest('{SELECT,INSERT,UPDATE,DELETE}'::text[]) AS privilege
WHERE relkind IN ('r', 'p') AND relnamespace = to_regnamespace('public') AND relname = ANY(:names)
    AND NOT (privilege = 'DELETE' AND relname IN ('workspace', 'audit_chain'))
    AND NOT CASE privilege WHEN 'UPDATE' THEN has_any_column_privilege(oid, privilege)
        ELSE has_table_privilege(oid, privilege) END

-- settings: those with these names
SELECT name, setting FROM pg_settings WHERE name = ANY(:names)

-- clock: the server's, in seconds
SELECT extract(epoch FROM clock_timestamp())::float8

-- clients: how many connections there are
SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'
