"""What came of each endpoint's attempts, hour by hour: plots need not count a million rows."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.db import DB

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
    manager = MigrationManager(migration_id=ID, app_name="leadwire", description=DESCRIPTION)

    async def run(sql: str) -> None:
        async with DB.transaction() as transaction:
            await transaction.connection.execute(sql)

    async def up() -> None:
        await run(UP)

    async def down() -> None:
        await run(DOWN)

    manager.add_raw(up)
    manager.add_raw_backwards(down)
    return manager
