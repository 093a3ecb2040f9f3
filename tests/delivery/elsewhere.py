"""Another PostgreSQL server for a test: one that a dump is restored into, or a standby that is promoted."""

import asyncio
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from ops.drills.servers import Servers

from leadwire.delivery import epochs
from leadwire.infrastructure import db
from leadwire.infrastructure.db import DB
from leadwire_development.embedded import Services
from leadwire_development.embedded.binaries import find

# Uses up numbers of transactions: each block is a subtransaction of its own.
_MANY_TRANSACTIONS = """DO $$ BEGIN CREATE TEMP TABLE used (n int);
    FOR n IN 1..{} LOOP
        BEGIN INSERT INTO used VALUES (n); EXCEPTION WHEN OTHERS THEN RAISE; END;
    END LOOP;
    DROP TABLE used; END $$"""


async def use_transactions(count: int) -> None:
    """Take the server's counter of transactions on by `count`."""
    await db.rows(_MANY_TRANSACTIONS.format(count))


@asynccontextmanager
async def moved_to(
    url: str,
    role: db.Role = "maintenance",
    *,
    restarted: bool = True,
    connections: int = 4,
    indexes_only: bool = False,
) -> AsyncIterator[None]:
    """The pool of this process leads to another server until the end of the block, `restarted` or not."""
    kept = DB.pool, DB.connections, DB.config, DB.role
    DB.pool = None
    await db.open_pool(url, connections, role=role, indexes_only=indexes_only)
    try:
        if restarted:
            await epochs.note()
        yield
    finally:
        await db.close_pool()
        DB.pool, DB.connections, DB.config, DB.role = kept


@asynccontextmanager
async def standby(running: Services, data_dir: Path) -> AsyncIterator[Servers]:
    """An asynchronous standby of the test's server."""
    servers = Servers(running, data_dir)
    await servers.add_standby(synchronous=False)
    try:
        yield servers
    finally:
        await servers.close()


def standby_url(servers: Servers) -> str:
    """The standby's address."""
    return f"postgresql://postgres@/leadwire?host={servers.standby_run}&port=5432"


async def tool(name: str, *arguments: str) -> None:
    """One of PostgreSQL's own programs."""
    command = [str(find("postgres").path.with_name(name)), *arguments]
    done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
