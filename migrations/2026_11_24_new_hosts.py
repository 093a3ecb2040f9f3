"""Whether the host of an endpoint has still to answer its workspace with a 2xx."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-24T03:00:00:000000"
VERSION = "1.46.0"
DESCRIPTION = "new_hosts"

# Endpoints that are there, or that a version before makes meanwhile, count as answered.
UP = """
ALTER TABLE webhook_endpoint ADD COLUMN new_host boolean NOT NULL DEFAULT false;
CREATE INDEX webhook_endpoint_new_host ON webhook_endpoint (workspace_id) WHERE new_host
"""
DOWN = """
DROP INDEX webhook_endpoint_new_host;
ALTER TABLE webhook_endpoint DROP COLUMN new_host
"""


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
