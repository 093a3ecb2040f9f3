"""An outcome for attempts that an operator's proxy did not let pass."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-22T11:25:23:000000"
VERSION = "1.38.0"
DESCRIPTION = "proxy outcome"

# A day's partition has the check of its own that it was made with. Not validated: what is there was checked before.
_CHECK = """
ALTER TABLE attempt DROP CONSTRAINT attempt_outcome_check;
DO $$ DECLARE day regclass; BEGIN
    FOR day IN SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent = 'attempt'::regclass LOOP
        EXECUTE format('ALTER TABLE %s DROP CONSTRAINT IF EXISTS attempt_outcome_check', day);
    END LOOP;
END $$;
ALTER TABLE attempt ADD CONSTRAINT attempt_outcome_check CHECK (outcome IN ('delivered', 'http_3xx', 'http_4xx',
    'http_5xx', 'timeout', 'dns_error', 'connect_error', 'tls_error', 'protocol_error', 'blocked_address', {}'gone'))
    NOT VALID;
"""

UP = _CHECK.replace("{}", "'proxy_error', ")
DOWN = "UPDATE attempt SET outcome = 'connect_error' WHERE outcome = 'proxy_error';" + _CHECK.replace("{}", "")


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
