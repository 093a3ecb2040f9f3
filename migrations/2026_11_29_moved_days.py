"""The fence of a workspace that has moved lets days go, whichever version has built it."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-29T00:00:00:000000"
VERSION = "1.46.0"
DESCRIPTION = "moved_days"

_FUNCTION = """
CREATE OR REPLACE FUNCTION refuse_while_moving() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF {}NOT pg_try_advisory_xact_lock_shared(7226, hashtext(TG_ARGV[0]))
        OR EXISTS (SELECT 1 FROM workspace WHERE id = TG_ARGV[0] AND move_id IS NOT NULL){} THEN
        RAISE restrict_violation USING MESSAGE = 'workspace ' || TG_ARGV[0] || ' is being moved';
    END IF;
    RETURN NEW;
END $$
"""

# What is only moved to another partition is no change (`delivery.relay.partitions`).
UP = _FUNCTION.format("current_setting('leadwire.partitions', true) IS DISTINCT FROM 'moved' AND (", ")")
DOWN = _FUNCTION.format("", "")


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
