"""What came of each endpoint's attempts, hour by hour: plots need not count a million rows."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-21T08:21:00:000000"
VERSION = "1.38.0"
DESCRIPTION = "hourly figures of each endpoint's deliveries"

UP = """
CREATE TABLE endpoint_hour (
    endpoint_id text COLLATE "C" NOT NULL REFERENCES webhook_endpoint ON DELETE CASCADE,
    hour timestamptz NOT NULL,
    delivered int NOT NULL,
    failed int NOT NULL,
    took int[] NOT NULL,
    last_at timestamptz NOT NULL,
    last_outcome text NOT NULL,
    PRIMARY KEY (endpoint_id, hour)
);
CREATE INDEX endpoint_hour_old ON endpoint_hour (hour);
"""

DOWN = "DROP TABLE endpoint_hour"


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
