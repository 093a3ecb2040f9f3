"""Redrives of some numbers of an endpoint's deliveries."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-27T00:10:00:000000"
VERSION = "1.46.0"
DESCRIPTION = "named_redrives"

UP = """
ALTER TABLE redrive_job ADD COLUMN first_number bigint;
ALTER TABLE redrive_job ADD COLUMN last_number bigint
"""
DOWN = """
ALTER TABLE redrive_job DROP COLUMN last_number;
ALTER TABLE redrive_job DROP COLUMN first_number
"""


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
