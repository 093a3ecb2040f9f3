"""Search: a conversation that changes in nothing that it is found by is not written again. A message counts."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-23T06:10:00:000000"
VERSION = "1.46.0"
DESCRIPTION = "search"

UP = """
CREATE OR REPLACE TRIGGER search_changed AFTER UPDATE ON conversation FOR EACH ROW
    WHEN ((OLD.messages_count, OLD.status, OLD.tags, OLD.visitor_name, OLD.visitor_email)
        IS DISTINCT FROM (NEW.messages_count, NEW.status, NEW.tags, NEW.visitor_name, NEW.visitor_email))
    EXECUTE FUNCTION note_search_due();
"""

DOWN = """
CREATE OR REPLACE TRIGGER search_changed AFTER UPDATE ON conversation FOR EACH ROW
    WHEN ((OLD.updated_at, OLD.status, OLD.tags) IS DISTINCT FROM (NEW.updated_at, NEW.status, NEW.tags))
    EXECUTE FUNCTION note_search_due();
"""


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
