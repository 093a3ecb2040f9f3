"""The end of each chain of audit entries is told outside of the database."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-24T04:10:00:000000"
VERSION = "1.46.0"
DESCRIPTION = "audit_head"

UP = """
ALTER TABLE audit_chain ADD COLUMN head_due boolean NOT NULL DEFAULT true;
CREATE INDEX audit_chain_head_due ON audit_chain (id) WHERE head_due;
"""

DOWN = "ALTER TABLE audit_chain DROP COLUMN head_due"


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
