"""The transactions that may still commit an event before others that are committed, and what must be waited for.

An event's `xact` is at least the number of the transaction that wrote it, and at least that of the last one that had
ended when it was written. So whatever has yet to be recorded comes behind all that a snapshot shows. Only a transaction
that has recorded an event and was open in the snapshot may come before: it holds a lock on `event` until it ends.
"""

from typing import Final

LOCKS: Final = """locks AS MATERIALIZED (
    SELECT virtualtransaction, transactionid, relation FROM pg_locks
    WHERE granted AND (locktype = 'transactionid' AND mode = 'ExclusiveLock' OR mode = 'RowExclusiveLock'
        AND relation = 'event'::regclass
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())))"""
"""What `OLDEST` reads, for WITH: it asks the server only when it is read."""

# Locks are read after the snapshot was taken, and a transaction that ends gives up its locks one by one. So one passes
# only if it is seen to be open after its locks were read; one that has ended meanwhile is waited for until the next
# look. A standby does not know the locks of its primary.
OLDEST: Final = """CASE WHEN pg_is_in_recovery() THEN pg_snapshot_xmin(pg_current_snapshot()) ELSE coalesce((
    SELECT open.xact FROM pg_snapshot_xip(pg_current_snapshot()) AS open (xact)
    WHERE CASE WHEN EXISTS (
            SELECT 1 FROM locks own WHERE own.transactionid = open.xact::xid AND own.virtualtransaction <> ALL (
                SELECT virtualtransaction FROM locks WHERE relation IS NOT NULL))
        THEN pg_xact_status(open.xact) IS DISTINCT FROM 'in progress' ELSE true END
    ORDER BY open.xact LIMIT 1), pg_snapshot_xmax(pg_current_snapshot())) END"""
"""The lowest `xact` that an event may have which the statement does not see. What is below is complete."""
