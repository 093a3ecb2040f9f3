"""Where keys and the web area may be used from, and client certificates of endpoints."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-22T11:25:24:000000"
VERSION = "1.38.0"
DESCRIPTION = "networks and client certificates"

UP = """
ALTER TABLE api_key ADD COLUMN networks text[] NOT NULL DEFAULT '{}'; -- from which it may be used; empty: from any
ALTER TABLE workspace ADD COLUMN networks text[] NOT NULL DEFAULT '{}'; -- the same of the web area
ALTER TABLE webhook_endpoint
    ADD COLUMN certificate bytea, -- sealed PEM: a client certificate, its chain and its key
    ADD COLUMN certificate_subject text,
    ADD COLUMN certificate_ends_at timestamptz(3);
"""

DOWN = """
ALTER TABLE webhook_endpoint
    DROP COLUMN certificate, DROP COLUMN certificate_subject, DROP COLUMN certificate_ends_at;
ALTER TABLE workspace DROP COLUMN networks;
ALTER TABLE api_key DROP COLUMN networks;
"""


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
