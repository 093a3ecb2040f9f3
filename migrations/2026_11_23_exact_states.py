"""The exact state of a delivery, told by the view of both tables."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-23T03:30:00:000000"
VERSION = "1.46.0"
DESCRIPTION = "exact_states"

_VIEW = """
SELECT event_id, endpoint_id, workspace_id, state, attempts, generation, test, created_at, due_at,
    queued_at, set_aside_at, NULL::timestamptz AS finished_at, last_outcome, sequence{exact_open} FROM delivery
UNION ALL
SELECT event_id, endpoint_id, workspace_id, state, attempts, generation, test, created_at, finished_at, NULL,
    NULL, finished_at, last_outcome, sequence{exact_ended} FROM delivery_result
"""
_EXACT = """,
    CASE WHEN set_aside_at IS NOT NULL THEN 'set_aside'
        WHEN state = 'waiting' AND due_at = 'infinity' THEN 'behind'
        WHEN state = 'queued' AND owner LIKE 'pull:%' THEN 'fetched'
        WHEN state = 'queued' AND owner IS NOT NULL THEN 'sending'
        ELSE state END AS exact_state"""

UP = f"CREATE OR REPLACE VIEW every_delivery AS {_VIEW.format(exact_open=_EXACT, exact_ended=', state')}"

DOWN = f"""
DROP VIEW every_delivery;
CREATE VIEW every_delivery AS {_VIEW.format(exact_open="", exact_ended="")}
"""


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
