"""An endpoint's keys of Ed25519, and what is published of them."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-24T23:50:00:000000"
VERSION = "1.46.0"
DESCRIPTION = "signing_keys"

UP = """
ALTER TABLE webhook_endpoint ADD COLUMN signing_key bytea, ADD COLUMN next_signing_key bytea,
    ADD COLUMN public_keys text
"""
DOWN = """
ALTER TABLE webhook_endpoint DROP COLUMN signing_key, DROP COLUMN next_signing_key, DROP COLUMN public_keys
"""


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
