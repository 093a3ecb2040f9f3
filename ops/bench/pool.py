"""`python -m ops.bench.pool`: what a use of a connection costs, with Leadwire's pool and with asyncpg's own."""

import asyncio
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

import asyncpg
import uvloop

from leadwire.infrastructure.db.pool import Connection, Pool
from leadwire.infrastructure.settings import Settings
from leadwire_development.embedded import services

_SIZE: Final = 8  # connections
_USES: Final = 20_000  # in each round
_ROUNDS: Final = 7


async def _compare(url: str) -> None:
    theirs, inner = [
        await asyncpg.create_pool(url, min_size=_SIZE, max_size=_SIZE, connection_class=Connection) for _ in range(2)
    ]
    pool = Pool(inner)

    async def asyncpg_pool(sql: str) -> None:
        connection = await theirs.acquire()
        try:
            if sql:
                await connection.fetch(sql)
        finally:
            await theirs.release(connection)

    async def our_pool(sql: str) -> None:
        connection = await pool.acquire()
        try:
            if sql:
                await connection.fetch(sql)
        except BaseException:
            await pool.drop(connection)
            raise
        pool.release(connection)

    print(f"{_SIZE} connections; microseconds of CPU for each use, medians of {_ROUNDS} rounds in turns")
    for sql in ("", "SELECT 1"):
        for users in (1, 32):
            rounds = [[await _cost(use, sql, users) for use in (asyncpg_pool, our_pool)] for _ in range(_ROUNDS)]
            costs = [statistics.median(column) for column in zip(*rounds, strict=True)]
            print(f"{sql or 'no statement'}, {users} at once: asyncpg {costs[0]:.1f}, ours {costs[1]:.1f}")
    await pool.close()
    await theirs.close()


async def _cost(use: Callable[[str], Awaitable[None]], sql: str, users: int) -> float:
    async def user() -> None:
        for _ in range(_USES // users):
            await use(sql)

    began = time.process_time()
    await asyncio.gather(*(user() for _ in range(users)))
    return (time.process_time() - began) / _USES * 1e6


if __name__ == "__main__":
    with (
        tempfile.TemporaryDirectory(prefix="leadwire-bench-") as directory,
        services(Settings(data_dir=Path(directory)), durable=False) as running,
    ):
        uvloop.run(_compare(running.database_url))
