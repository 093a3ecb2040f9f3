"""Audit logs: each chain finds its own entries that are not chained yet."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-23T06:20:00:000000"
VERSION = "1.46.0"
DESCRIPTION = "audit"

UP = """
CREATE INDEX audit_entry_unchained ON audit_entry (coalesce(workspace_id, 'installation'), id) WHERE number IS NULL;
DROP INDEX audit_entry_waiting;
"""

DOWN = """
CREATE INDEX audit_entry_waiting ON audit_entry (id) WHERE number IS NULL;
DROP INDEX audit_entry_unchained;
"""


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
