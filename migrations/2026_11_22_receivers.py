"""The token of an endpoint's receiver, for what it may ask of us."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-22T08:00:00:000000"
VERSION = "1.38.0"
DESCRIPTION = "receivers"

UP = """
ALTER TABLE webhook_endpoint
    ADD COLUMN token bytea, -- SHA-256 of what its receiver authenticates with
    ADD COLUMN token_at timestamptz;
CREATE UNIQUE INDEX webhook_endpoint_token ON webhook_endpoint (token) WHERE token IS NOT NULL;
"""

DOWN = "ALTER TABLE webhook_endpoint DROP COLUMN token, DROP COLUMN token_at"


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
