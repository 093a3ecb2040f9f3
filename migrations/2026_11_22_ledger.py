"""The last full check of the ledger, which a relay makes, and when somebody asked for one."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-22T17:01:00:000000"
VERSION = "1.46.0"
DESCRIPTION = "ledger"

UP = """
CREATE TABLE ledger_check (
    alone boolean PRIMARY KEY CHECK (alone), -- there is one row at most
    asked_at timestamptz NOT NULL DEFAULT now(),
    checked_at timestamptz, -- when the last check began
    result text -- JSON: see delivery/monitoring/ledger.py
);
"""

DOWN = "DROP TABLE ledger_check"


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
