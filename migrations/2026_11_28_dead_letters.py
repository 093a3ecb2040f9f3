"""Dead letters are counted by their index alone: whether one was a test stood in its row, a page for each."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-28T00:00:00:000000"
VERSION = "1.46.0"
DESCRIPTION = "dead_letters"

UP = """
CREATE INDEX delivery_result_dead_letters ON delivery_result (workspace_id, endpoint_id, event_id, test)
WHERE state = 'dead';
DROP INDEX delivery_result_dead
"""
DOWN = """
CREATE INDEX delivery_result_dead ON delivery_result (workspace_id, endpoint_id, event_id) WHERE state = 'dead';
DROP INDEX delivery_result_dead_letters
"""


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
