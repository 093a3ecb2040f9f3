"""A standby that is read from while it follows the primary.

Once a second the end of the primary's log (WAL) is noted, and how far the standby has replayed it. So its lag needs no
clock but ours, and one that is cut off is noticed as well as one that is slow. Positions are bytes of that log.
"""

import asyncio
import contextlib
import time
from collections import deque
from typing import Any, Final

import asyncpg

from leadwire.infrastructure.db.pool import Pool
from leadwire.infrastructure.db.shares import workspace

BEHIND: Final = "it is too far behind"
PATIENCE: Final = 1.0
"""Seconds in which a standby has to answer, and to be connected to."""

_NOTED: Final = 1000  # ends of the primary's log
# Where the log ends, and where it has been replayed to on a standby; and which database of which cluster this is. A
# record that is about to be written may begin a little after the end of the last one: in `_END` this would look like a
# lag for as long as nothing is written.
_WHICH: Final = "current_database() || ' of ' || system_identifier FROM pg_control_system()"
_END: Final = f"SELECT pg_wal_lsn_diff(pg_current_wal_flush_lsn(), '0/0')::bigint, {_WHICH}"
_NEXT: Final = f"SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint, {_WHICH}"
_REPLAYED: Final = f"""SELECT CASE WHEN pg_is_in_recovery()
    THEN pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0')::bigint END, {_WHICH}"""
ERRORS: Final[tuple[type[BaseException], ...]] = (
    OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError,
)  # fmt: skip
"""What a read that fails on a standby raises. It is then made on the primary, where it may fail again."""


class Standby:
    """Reads go to `connections` while `unused_because` is empty. `most_lag` is what is still accepted, in seconds."""

    def __init__(self, primary: Pool, connections: Pool, most_lag: float) -> None:
        self.connections = connections
        self.unused_because = "it has not answered yet"
        self.most_lag = most_lag
        self._primary = primary
        self.failures = 0
        """Reads that failed there and were made on the primary."""
        self._replayed = -1
        self._cluster: str | None = None  # the primary's
        self._ends: deque[tuple[float, int]] = deque(maxlen=_NOTED)  # of the primary's log, and when
        self._has_all_until = float("-inf")  # the latest of these that the standby has replayed

    @property
    def lag(self) -> float:
        """Seconds since the primary was where the standby is now, by what is known: one more than is true, at most."""
        return time.monotonic() - self._has_all_until

    async def position(self) -> int:
        """Where the primary's log goes on: whatever is committed is before."""
        return int((await _ask(self._primary, _NEXT))[0])

    async def look(self) -> None:
        """Find out whether it can be read from. Raise ValueError for an address that cannot be used."""
        with contextlib.suppress(*ERRORS):  # without the primary it is used until it is too old
            now = time.monotonic()
            end, self._cluster = await _ask(self._primary, _END)
            self._ends.append((now, end))
        try:
            replayed, theirs = await _ask(self.connections, _REPLAYED)
        except ValueError:
            raise
        except ERRORS as error:
            await self.leave(error)
            return
        if replayed is None or theirs != self._cluster:
            await self.leave("it is no standby" if replayed is None else f"it is no standby of ours, but {theirs}")
            return
        self._replayed = replayed
        while self._ends and self._ends[0][1] <= replayed:
            self._has_all_until, _ = self._ends.popleft()
        self.unused_because = BEHIND if self.lag > self.most_lag else ""

    async def has(self, position: int) -> bool:
        """Whether it has replayed the log up to there."""
        if self._replayed < position:
            try:
                self._replayed = (await _ask(self.connections, _REPLAYED))[0] or -1
            except ERRORS as error:
                await self.leave(error)
        return self._replayed >= position

    async def failed(self, error: BaseException) -> None:
        """A read has failed there. What the server itself refuses is no reason to leave it."""
        self.failures += 1
        if not isinstance(error, asyncpg.PostgresError) or isinstance(error, asyncpg.PostgresConnectionError):
            await self.leave(error)

    async def leave(self, reason: BaseException | str) -> None:
        """Use it no more until it has been looked at again. Whoever waits for it gets an error."""
        self.unused_because = reason if isinstance(reason, str) else str(reason) or type(reason).__name__
        self._replayed, self._has_all_until = -1, float("-inf")  # the next connection may be to another server
        await self.connections.abandon()


async def _ask(pool: Pool, sql: str) -> Any:
    """The only row of a statement. Raise one of `ERRORS`, within `PATIENCE`."""
    before = workspace.set("")  # it counts to nobody's share
    try:
        async with asyncio.timeout(PATIENCE):
            connection = await pool.acquire()
            try:
                found = await connection.fetchrow(sql)
            except BaseException:
                connection.terminate()
                await pool.drop(connection)
                raise
            pool.release(connection)
            return found
    finally:
        workspace.reset(before)
