"""The index of turns is only for whoever asks for workspaces."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-23T21:00:00:000000"
VERSION = "1.46.0"
DESCRIPTION = "job_turns"

# What is due would be looked for in all of it, where a table seems to be empty. The table holds what is to be done, so
# the index is made in a moment.
UP = """
DROP INDEX job_turns;
CREATE INDEX job_turns ON job (kind, workspace_id, due_at) WHERE failed_at IS NULL AND workspace_id >= '';
"""
DOWN = """
DROP INDEX job_turns;
CREATE INDEX job_turns ON job (kind, workspace_id, due_at) WHERE failed_at IS NULL;
"""


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
