"""Days are made and dropped with the rights of the tables' owner, so that who serves need not own them."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-24T06:19:00:000000"
VERSION = "1.46.0"
DESCRIPTION = "service_role"

# The caller has locked the tables. `infrastructure/db/rights.py` says who may call them.
UP = """
ALTER FUNCTION make_event_partitions SECURITY DEFINER SET search_path = public, pg_temp;
CREATE FUNCTION drop_event_partitions(day date) RETURNS void LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
-- What belongs to deliveries that are not finished moves to the default partition.
DECLARE
    parent text;
    child text;
BEGIN
    FOREACH parent IN ARRAY ARRAY['event', 'delivery_result', 'attempt'] LOOP
        child := parent || '_' || to_char(day, 'YYYYMMDD');
        EXECUTE format('ALTER TABLE %I DETACH PARTITION %I', parent, child);
        IF parent <> 'delivery_result' THEN
            EXECUTE format('INSERT INTO %I SELECT * FROM %I v WHERE
                EXISTS (SELECT 1 FROM delivery d WHERE d.event_id = v.%3$I) OR
                EXISTS (SELECT 1 FROM outbox o WHERE o.event_id = v.%3$I)',
                parent, child, CASE parent WHEN 'event' THEN 'id' ELSE 'event_id' END);
        END IF;
        EXECUTE format('DROP TABLE %I', child);
    END LOOP;
END $$;
"""

DOWN = """
DROP FUNCTION drop_event_partitions;
ALTER FUNCTION make_event_partitions SECURITY INVOKER RESET search_path;
"""


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
