"""Two installations: two databases with a key each, and one process that is now in the one, now in the other."""

import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import asyncpg
import pytest

from leadwire.domain.accounts import reads
from leadwire.infrastructure import db, secret_box
from leadwire.infrastructure.db.migrations import migrate
from leadwire.infrastructure.secret_box import SecretBox
from tests.delivery.elsewhere import moved_to

KEYS: Final = ("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", base64.b64encode(b"b" * 32).decode())


class Cell:
    """One of them: the address of its database, and its key."""

    def __init__(self, url: str, key: str) -> None:
        self.url, self.keys = url, (key,)

    @asynccontextmanager
    async def inside(self) -> AsyncIterator[None]:
        """What is run inside the block is run there."""
        box = SecretBox(self.keys)
        reads._known.clear()
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(secret_box, "get", lambda: box)
            async with moved_to(self.url, restarted=False):
                yield
        reads._known.clear()


async def second(url: str) -> Cell:
    """Make another database beside the one at `url`, with our tables."""
    cell = Cell(url.replace("/leadwire?", "/cell_b?"), KEYS[1])
    connection = await asyncpg.connect(url)
    await connection.execute("DROP DATABASE IF EXISTS cell_b WITH (FORCE)")
    await connection.execute("CREATE DATABASE cell_b")
    await connection.close()
    async with cell.inside():
        await migrate()
    return cell


async def empty() -> None:
    """Delete all rows here."""
    tables = await db.rows(
        """SELECT oid::regclass::text AS name FROM pg_class WHERE relkind IN ('r', 'p') AND NOT relispartition
           AND relnamespace = 'public'::regnamespace AND relname <> 'migration'"""
    )
    await db.rows(f"TRUNCATE {', '.join(row['name'] for row in tables)}")
