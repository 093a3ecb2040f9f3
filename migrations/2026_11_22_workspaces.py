"""Customers: a workspace can be suspended and deleted, and have quotas of its own."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-22T08:30:00:000000"
VERSION = "1.38.0"
DESCRIPTION = "workspaces"

UP = """
ALTER TABLE workspace
    ADD COLUMN suspended_at timestamptz(3),
    ADD COLUMN deletion_began_at timestamptz(3), -- it is suspended, too, and stays so
    ADD COLUMN quotas json NOT NULL DEFAULT '{}'; -- where they differ from the settings, by name
ALTER TABLE audit_entry ALTER COLUMN workspace_id DROP NOT NULL; -- null: about the installation
-- Found when somebody leaves: their conversations lose them.
CREATE INDEX conversation_assigned ON conversation (assigned_to) WHERE assigned_to IS NOT NULL;
CREATE INDEX user_account_workspace ON user_account (workspace_id, created_at);
"""

DOWN = """
DROP INDEX user_account_workspace, conversation_assigned;
DELETE FROM audit_entry WHERE workspace_id IS NULL;
ALTER TABLE audit_entry ALTER COLUMN workspace_id SET NOT NULL;
ALTER TABLE workspace DROP COLUMN suspended_at, DROP COLUMN deletion_began_at, DROP COLUMN quotas;
"""


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
