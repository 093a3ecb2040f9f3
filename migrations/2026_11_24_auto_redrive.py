"""Endpoints whose dead letters are sent again without a person, and the redrives that nobody has started."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-24T23:55:00:000000"
VERSION = "1.46.0"
DESCRIPTION = "auto_redrive"

UP = """
ALTER TABLE webhook_endpoint ADD COLUMN auto_redrive_since timestamptz;
CREATE INDEX webhook_endpoint_auto_redrive ON webhook_endpoint (workspace_id) WHERE auto_redrive_since IS NOT NULL;
ALTER TABLE redrive_job ADD COLUMN died_since timestamptz;
CREATE INDEX redrive_job_auto ON redrive_job (endpoint_id, created_at) WHERE died_since IS NOT NULL
"""
DOWN = """
DROP INDEX redrive_job_auto;
ALTER TABLE redrive_job DROP COLUMN died_since;
DROP INDEX webhook_endpoint_auto_redrive;
ALTER TABLE webhook_endpoint DROP COLUMN auto_redrive_since
"""


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
