"""The order of the feed: an event's `xact` is not only who wrote it, but puts it behind what was committed before.

A transaction takes its number when it first writes, and may record an event long afterwards. If the event had that
number, the feed would have to wait for every transaction that writes, since it may still record one. So `xact` is the
number of the last transaction that has ended, where that is higher. Who wrote it is in `writer`, for totals.
"""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-23T04:11:00:000000"
VERSION = "1.38.0"
DESCRIPTION = "order of the feed"

UP = """
-- Not LANGUAGE sql: it would have the snapshot of the statement, which is older than the locks that this waited for.
CREATE FUNCTION event_xact() RETURNS xid8 LANGUAGE plpgsql AS $$
BEGIN
    RETURN greatest(pg_current_xact_id(), (pg_snapshot_xmax(pg_current_snapshot())::text::bigint - 1)::text::xid8);
END $$;
ALTER TABLE event ADD COLUMN writer xid8; -- not with a default, which would rewrite what is there
ALTER TABLE event ALTER COLUMN writer SET DEFAULT pg_current_xact_id(), ALTER COLUMN xact SET DEFAULT event_xact();
"""

DOWN = """
ALTER TABLE event ALTER COLUMN xact SET DEFAULT pg_current_xact_id(), DROP COLUMN writer;
DROP FUNCTION event_xact;
"""


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
