"""Jobs: one table for everything that is done in the background and is no delivery."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-23T01:00:00:000000"
VERSION = "1.46.0"
DESCRIPTION = "jobs"

UP = """
CREATE TABLE job (
    kind text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    workspace_id text COLLATE "C" NOT NULL, -- empty: of the installation
    due_at timestamptz NOT NULL, -- while it is being done: until when nobody else may
    since timestamptz NOT NULL, -- when it was due for the first time
    owner text COLLATE "C",
    again boolean NOT NULL DEFAULT false,
    tries smallint NOT NULL DEFAULT 0,
    place text NOT NULL DEFAULT '',
    error text,
    failed_at timestamptz,
    PRIMARY KEY (kind, key)
);
CREATE INDEX job_due ON job (kind, due_at) WHERE failed_at IS NULL;
CREATE INDEX job_turns ON job (kind, workspace_id, due_at) WHERE failed_at IS NULL;
CREATE INDEX job_workspace ON job (workspace_id);
"""

DOWN = "DROP TABLE job"


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
