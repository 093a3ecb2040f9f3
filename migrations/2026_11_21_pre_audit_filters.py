"""The audit log by who acted, and by what was done."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.db import DB

ID = "2026-11-21T08:45:00:000000"
VERSION = "1.38.0"
DESCRIPTION = "audit filters"

UP = """
CREATE INDEX audit_entry_actor ON audit_entry (workspace_id, actor, id);
CREATE INDEX audit_entry_action ON audit_entry (workspace_id, action, id);
"""


async def forwards() -> MigrationManager:
    manager = MigrationManager(migration_id=ID, app_name="leadwire", description=DESCRIPTION)

    async def run(sql: str) -> None:
        async with DB.transaction() as transaction:
            await transaction.connection.execute(sql)

    async def up() -> None:
        await run(UP)

    async def down() -> None:
        await run("DROP INDEX audit_entry_actor, audit_entry_action")

    manager.add_raw(up)
    manager.add_raw_backwards(down)
    return manager
