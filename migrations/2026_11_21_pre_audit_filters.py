"""The audit log by who acted, and by what was done."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-21T08:45:00:000000"
VERSION = "1.38.0"
DESCRIPTION = "audit filters"

UP = """
CREATE INDEX audit_entry_actor ON audit_entry (workspace_id, actor, id);
CREATE INDEX audit_entry_action ON audit_entry (workspace_id, action, id);
"""


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, "DROP INDEX audit_entry_actor, audit_entry_action")
