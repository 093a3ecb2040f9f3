"""Who was removed from a workspace, by their address: single sign-on lets them in by an invitation only."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-29T23:00:00:000000"
VERSION = "1.46.0"
DESCRIPTION = "removed_people"

UP = """
CREATE TABLE removed_person (
    workspace_id text COLLATE "C" NOT NULL REFERENCES workspace ON DELETE CASCADE,
    email text COLLATE "C" NOT NULL, -- in lower case
    removed_at timestamptz(3) NOT NULL,
    PRIMARY KEY (workspace_id, email)
)
"""
DOWN = "DROP TABLE removed_person"


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
