"""Audit entries are counted a second way, so that none can vanish before it is chained."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-24T04:00:00:000000"
VERSION = "1.46.0"
DESCRIPTION = "audit_count"

UP = """
ALTER TABLE audit_entry ADD COLUMN in_count boolean NOT NULL DEFAULT false; -- false: by a version before
CREATE TABLE audit_count ( -- rows of a chain are added up: a change waits for no other
    id text COLLATE "C" PRIMARY KEY,
    workspace_id text COLLATE "C" REFERENCES workspace ON DELETE CASCADE, -- null: of the installation
    entries bigint NOT NULL,
    digests numeric NOT NULL -- the sum of their SHA-256
);
CREATE INDEX audit_count_chain ON audit_count (coalesce(workspace_id, 'installation'));
"""

DOWN = """
DROP TABLE audit_count;
ALTER TABLE audit_entry DROP COLUMN in_count;
"""


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
