"""Rows of a statement without ORDER BY come in reverse.

PostgreSQL promises no order for them: an update moves a row, and statistics change a plan. A test, or what it tests,
that counts on the order in which rows were inserted fails here each time, and not once in a thousand runs.
"""

from typing import Any

import asyncpg

_fetch = asyncpg.Connection.fetch


async def _reversed(self: asyncpg.Connection, query: str, *args: Any, **options: Any) -> list[asyncpg.Record]:
    rows = await _fetch(self, query, *args, **options)
    return rows if "ORDER BY" in query.upper() else rows[::-1]


def reverse() -> None:
    """For every connection of this process."""
    asyncpg.Connection.fetch = _reversed
