"""Workspaces that move to another installation: which have gone, and what refuses their changes meanwhile."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-23T22:34:00:000000"
VERSION = "1.46.0"
DESCRIPTION = "moves"

UP = """
ALTER TABLE workspace ADD COLUMN move_id text;
-- Of triggers that a move makes, for one workspace each. Whoever has changed something of it holds the lock until the
-- transaction ends; the move holds it alone. Once it has gone, `move_id` refuses.
CREATE FUNCTION refuse_while_moving() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT pg_try_advisory_xact_lock_shared(7226, hashtext(TG_ARGV[0]))
        OR EXISTS (SELECT 1 FROM workspace WHERE id = TG_ARGV[0] AND move_id IS NOT NULL) THEN
        RAISE restrict_violation USING MESSAGE = 'workspace ' || TG_ARGV[0] || ' is being moved';
    END IF;
    RETURN NEW;
END $$;
"""

DOWN = """
DROP FUNCTION refuse_while_moving;
ALTER TABLE workspace DROP COLUMN move_id;
"""


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
