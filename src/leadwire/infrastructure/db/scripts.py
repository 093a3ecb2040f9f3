"""A migration that is SQL: what most of ours are."""

from typing import TYPE_CHECKING

from leadwire.infrastructure.db import DB

if TYPE_CHECKING:  # half a second to import, and only a migration needs it
    from piccolo.apps.migrations.auto.migration_manager import MigrationManager


def migration(migration_id: str, description: str, up: str, down: str) -> "MigrationManager":
    """What `forwards` of a migration returns: two scripts, each one transaction, of any number of statements."""
    from piccolo.apps.migrations.auto.migration_manager import MigrationManager

    manager = MigrationManager(migration_id=migration_id, app_name="leadwire", description=description)

    async def run(script: str) -> None:
        async with DB.transaction() as transaction:
            await transaction.connection.execute(script)

    async def forwards() -> None:
        await run(up)

    async def backwards() -> None:
        await run(down)

    manager.add_raw(forwards)
    manager.add_raw_backwards(backwards)
    return manager
