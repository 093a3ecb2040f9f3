"""The chains of the audit logs: entries are numbered and hashed after their commit."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-22T11:10:00:000000"
VERSION = "1.38.0"
DESCRIPTION = "audit"

UP = """
ALTER TABLE audit_entry
    ADD COLUMN number bigint, -- in its chain, from 1; null: not chained yet
    ADD COLUMN hash bytea; -- SHA-256 of the hash before it and of the entry
CREATE INDEX audit_entry_waiting ON audit_entry (id) WHERE number IS NULL;
CREATE UNIQUE INDEX audit_entry_number ON audit_entry (coalesce(workspace_id, 'installation'), number)
    WHERE number IS NOT NULL;
CREATE INDEX audit_entry_subject ON audit_entry (workspace_id, subject, id);
CREATE TABLE audit_chain (
    id text COLLATE "C" PRIMARY KEY, -- of its workspace, or 'installation'
    workspace_id text COLLATE "C" REFERENCES workspace ON DELETE CASCADE,
    sealed bytea NOT NULL -- with the operator's key: its last entry, and the last one that was dropped
);
"""

DOWN = """
DROP TABLE audit_chain;
DROP INDEX audit_entry_subject, audit_entry_number, audit_entry_waiting;
ALTER TABLE audit_entry DROP COLUMN number, DROP COLUMN hash;
"""


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
