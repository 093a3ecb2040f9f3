"""The second factor of people who sign in."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.db import DB

ID = "2026-11-21T12:20:00:000000"
VERSION = "1.38.0"
DESCRIPTION = "the second factor"

UP = "ALTER TABLE user_account ADD COLUMN totp_secret bytea, ADD COLUMN totp_step bigint"
DOWN = "ALTER TABLE user_account DROP COLUMN totp_secret, DROP COLUMN totp_step"


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
