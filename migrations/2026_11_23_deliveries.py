"""Deliveries that a replay and the record of an outcome have left both open and ended: they are sent again, as the
replay asked for.
"""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-23T03:00:00:000000"
VERSION = "1.46.0"
DESCRIPTION = "deliveries"

UP = """
WITH doubled AS (
    DELETE FROM delivery_result r USING delivery d
    WHERE r.event_id = d.event_id AND r.endpoint_id = d.endpoint_id AND d.created_at > r.finished_at
    RETURNING r.event_id, r.endpoint_id, r.generation
), looked_at AS (
    UPDATE webhook_endpoint SET due_at = least(due_at, now()) WHERE id IN (SELECT endpoint_id FROM doubled)
)
UPDATE delivery d SET state = 'waiting', attempts = 0, generation = greatest(d.generation, doubled.generation) + 1,
    queued_at = NULL, owner = NULL, lease_until = NULL, set_aside_at = NULL, last_outcome = NULL,
    due_at = CASE WHEN EXISTS (SELECT 1 FROM delivery f WHERE f.endpoint_id = d.endpoint_id AND f.subject = d.subject
        AND f.position < d.position) THEN 'infinity' ELSE now() END
FROM doubled WHERE d.event_id = doubled.event_id AND d.endpoint_id = doubled.endpoint_id
"""

DOWN = "SELECT 1"


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
