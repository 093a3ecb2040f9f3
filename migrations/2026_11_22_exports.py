"""Exports by the API: what is asked for. Nothing of what is exported is stored."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-22T14:07:00:000000"
VERSION = "1.46.0"
DESCRIPTION = "exports"

UP = """
CREATE TABLE export_job (
    id text COLLATE "C" PRIMARY KEY,
    workspace_id text COLLATE "C" NOT NULL REFERENCES workspace ON DELETE CASCADE,
    kind text NOT NULL CHECK (kind IN ('leads', 'conversations', 'messages', 'events')),
    format text NOT NULL CHECK (format IN ('ndjson', 'csv')),
    query text NOT NULL, -- the filters, as in the query of a list
    sent bigint NOT NULL DEFAULT 0, -- rows, by all downloads together
    created_at timestamptz(3) NOT NULL,
    expires_at timestamptz(3) NOT NULL,
    completed_at timestamptz(3),
    canceled_at timestamptz(3)
);
CREATE INDEX export_job_workspace ON export_job (workspace_id, created_at);
"""

DOWN = "DROP TABLE export_job"


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
