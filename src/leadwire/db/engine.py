"""Piccolo's engine as we need it: no connection at import time, connections from the lender, a transaction that never
keeps one."""

from collections.abc import Sequence
from types import TracebackType
from typing import Any

import asyncpg
from piccolo.engine.postgres import PostgresEngine, PostgresTransaction

from leadwire.db.lender import Lender


class Connection(asyncpg.Connection):
    """A pooled connection. It never holds session state, so the reset query (a round trip a query) is left out."""

    def get_reset_query(self) -> str:
        return ""


class Engine(PostgresEngine):
    """All of it runs on connections of `lender`, which is there while the pool is open."""

    lender: Lender | None = None

    async def check_version(self) -> None:
        """Not at import; the command line refuses what is too old."""

    async def prep_database(self) -> None:
        """No extensions are used."""

    async def start_connection_pool(self, **options: Any) -> None:
        await super().start_connection_pool(**options)
        self.lender = Lender(self.pool)  # type: ignore[arg-type]

    async def close_connection_pool(self) -> None:
        if self.lender:
            lender, self.lender, self.pool = self.lender, None, None
            await lender.close()

    def transaction(self, allow_nested: bool = True) -> "Transaction":
        return Transaction(self, allow_nested)

    async def fetch(self, sql: str, args: Sequence[Any]) -> list[asyncpg.Record]:
        """Run one statement, in the open transaction if there is one."""
        if (transaction := self.current_transaction.get()) is not None:
            return await transaction.connection.fetch(sql, *args)  # type: ignore[no-any-return]
        lender = self.lender
        assert lender is not None, "the pool is not open"  # noqa: S101 - a fault of ours, not of anybody's input
        connection = await lender.borrow()
        try:
            found = await connection.fetch(sql, *args)
        except BaseException:
            await lender.drop(connection)
            raise
        lender.give_back(connection)
        return found  # type: ignore[no-any-return]

    async def _run_in_pool(self, query: str, args: Sequence[Any] | None = None) -> list[asyncpg.Record]:
        return await self.fetch(query, args or ())


class Transaction(PostgresTransaction):
    """Gives its connection back also when BEGIN, COMMIT or ROLLBACK itself fails, which Piccolo's does not."""

    engine: Engine

    async def __aenter__(self) -> PostgresTransaction:
        if self._parent is not None:
            return self._parent
        lender = self.engine.lender
        assert lender is not None, "the pool is not open"  # noqa: S101 - see Engine.fetch
        self.connection = await lender.borrow()
        try:
            self.transaction = self.connection.transaction()
            await self.begin()  # type: ignore[no-untyped-call]
        except BaseException:
            await lender.drop(self.connection)
            raise
        self.context = self.engine.current_transaction.set(self)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if self._parent:
            return False
        lender = self.engine.lender
        sound = False
        try:
            if self._committed or self._rolled_back:
                pass
            elif error is None:
                await self.commit()  # type: ignore[no-untyped-call]
            else:
                await self.rollback()  # type: ignore[no-untyped-call]
            sound = error is None
        finally:
            self.engine.current_transaction.reset(self.context)
            if lender is None:  # closed meanwhile
                await self.connection.close()
            elif sound:
                lender.give_back(self.connection)
            else:
                await lender.drop(self.connection)
        return False
