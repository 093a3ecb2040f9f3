"""What admission knows of an endpoint's queue, so that it reads neither what is queued nor what was sent before."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-23T03:20:00:000000"
VERSION = "1.46.0"
DESCRIPTION = "endpoint_bounds"

UP = """
ALTER TABLE webhook_endpoint
    ADD COLUMN queued int NOT NULL DEFAULT 0, -- as it was counted, and what was queued since: the most there are
    ADD COLUMN waiting_from timestamptz NOT NULL DEFAULT '-infinity', -- nothing that waits is due before
    ADD COLUMN ordered_from bigint NOT NULL DEFAULT 0, -- nothing unfinished with a subject has a position before
    ADD COLUMN looked_at timestamptz; -- when all three were looked up in the whole queue
-- Of all subjects; the condition keeps who looks for one subject on the index that begins with it.
CREATE INDEX delivery_by_position ON delivery (endpoint_id, position) WHERE subject <> '';
"""

DOWN = """
DROP INDEX delivery_by_position;
ALTER TABLE webhook_endpoint
    DROP COLUMN queued, DROP COLUMN waiting_from, DROP COLUMN ordered_from, DROP COLUMN looked_at;
"""


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
