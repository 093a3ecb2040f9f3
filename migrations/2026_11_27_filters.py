"""Filters of endpoints: what of the kinds that they subscribe to they are sent.

`filter` is what a person has set, `filter_path` the same as PostgreSQL asks it of the body of an event.
"""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-27T00:20:00:000000"
VERSION = "1.46.0"
DESCRIPTION = "filters"

UP = """
-- Whatever cannot be asked, as of a body that is no JSON for PostgreSQL, is sent.
CREATE FUNCTION passes_filter(filter_path jsonpath, body text) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN coalesce(body::jsonb @@ filter_path, true);
EXCEPTION WHEN data_exception OR program_limit_exceeded OR feature_not_supported THEN
    RETURN true;
END $$;
ALTER TABLE webhook_endpoint ADD COLUMN filter text;
ALTER TABLE webhook_endpoint ADD COLUMN filter_path jsonpath
"""
DOWN = """
ALTER TABLE webhook_endpoint DROP COLUMN filter_path;
ALTER TABLE webhook_endpoint DROP COLUMN filter;
DROP FUNCTION passes_filter
"""


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
