-- {servers}: for `xact`: what this server has come to, and what is later, so of an earlier server whose dump was restored
(VALUES ('0'::xid8, pg_snapshot_xmax(pg_current_snapshot())),
    (pg_snapshot_xmax(pg_current_snapshot()), '9223372036854775807'::xid8)) AS server (since, until)
