"""A job or a request of a workspace that is suspended, resumed or deleted at once; and what must hold afterwards."""

import contextlib
import re
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, Final

from leadwire.domain.accounts import changes as accounts
from leadwire.domain.accounts import joining, quotas, reads
from leadwire.domain.accounts.audit import changes as audit
from leadwire.domain.workspaces import changes
from leadwire.infrastructure import clock, db, jobs
from leadwire.infrastructure.errors import DomainError, NotFound
from leadwire.infrastructure.jobs import Claimed
from leadwire.infrastructure.jobs.kinds import KINDS
from leadwire.infrastructure.jobs.runner import Runner
from leadwire.processes.background import find_kinds
from tests import jobs as of_kinds
from tests import make
from tests.bad_members.items import ITEMS
from tests.interleavings import kept
from tests.interleavings.sessions import Order, Session, each_order, interleave

TABLES: Final = re.compile("")  # each statement
CHANGES: Final[dict[str, Callable[[str], Awaitable[Any]]]] = {
    "suspend": changes.suspend,
    "resume": changes.resume,
    "delete": changes.delete,
}
CLEAN: Final = (db.Locked, db.Orphaned, NotFound)
"""What a job may raise: it is tried again, and where the workspace is gone it ends then."""
_PUT_OFF: Final = "SELECT due_at > now() + interval '1 minute' FROM job WHERE kind = $1 AND owner IS NULL"
_DUE: Final = """
WITH messages AS (UPDATE notice_address SET due_at = NULL)
UPDATE job SET due_at = now() WHERE owner IS NULL AND failed_at IS NULL"""
_TOLD: Final = "workspace.delet"
"""The audit log of the installation goes on telling of a deletion."""

find_kinds()


class Meeting:
    """A workspace with a job of one kind, which meets a change of the workspace in every order."""

    def __init__(self, kind: str, change: str) -> None:
        self.kind, self.change = kind, change
        self.orders = 0
        self.violations: list[str] = []
        self._errors: list[BaseException] = []
        self._begun = 0  # calls of the kind
        self._runs = KINDS[kind]._replace(run=self._run)

    async def begin(self) -> None:
        """Make the workspace, and keep all rows for `kept.restore`."""
        await db.rows("SELECT test_clock.empty_tables()")
        self.workspace = await accounts.create_workspace("Test")
        await ITEMS[self.kind].make(self.workspace)
        await of_kinds.find(self.kind)
        if self.change == "resume":
            await changes.suspend(self.workspace)
        await db.rows(_DUE)
        await kept.keep()

    async def run(self, *, job_first: bool) -> None:
        """The first of the two stops before each of its statements, and the other then goes first."""
        await each_order(partial(self.play, job_first))

    async def play(self, job_first: bool, order: Order, patient: bool) -> tuple[Session, Session]:
        """Run both in an order, and look at what came of them."""
        await kept.restore()
        self._errors, self._begun = [], 0
        works = [self.job, partial(CHANGES[self.change], self.workspace)]
        sessions = await interleave(works if job_first else works[::-1], TABLES, order, patient=patient)
        self.orders += 1
        errors = [*filter(None, (session.error() for session in sessions)), *self._errors]
        wrong = [repr(error) for error in errors if not isinstance(error, CLEAN) or error not in self._errors]
        try:
            wrong += await (self._gone() if self.change == "delete" else self._done())
        except Exception as error:  # noqa: BLE001 - whatever it is, the others are tried
            wrong.append(f"no end: {error!r}")
        which = f"{self.kind}, {self.change}, {'job' if job_first else 'change'} held, {order}"
        self.violations += [f"{which}: {what}" for what in wrong]
        return sessions

    async def job(self) -> None:
        """What a background process does that has no other kinds."""
        await of_kinds.find(self.kind)
        await Runner(reads.suspended, {self.kind: self._runs}).run_all()

    async def _run(self, batch: Sequence[Claimed]) -> jobs.Again | None:
        self._begun += 1
        try:
            return await KINDS[self.kind].run(batch)
        except BaseException as error:
            self._errors.append(error)
            raise

    async def _done(self) -> list[str]:
        """A job that was not begun is put off, and done once the workspace is awake."""
        wrong = []
        if self.change == "suspend" and not self._begun and not await db.value(_PUT_OFF, self.kind):
            wrong.append("is not put off")
        await changes.resume(self.workspace)
        for _ in range(3):  # what has failed is tried again
            await db.rows(_DUE)
            await self.job()
        if not await db.value(ITEMS[self.kind].done, self.workspace):
            wrong.append("is not done")
        return wrong + await self._left()

    async def _gone(self) -> list[str]:
        """Nothing is left that names the workspace, neither at once nor after what was being done."""
        wrong = await self._left() + await _named(self.workspace)
        await self.job()
        return wrong

    async def _left(self) -> list[str]:
        """Jobs of the kind that do not come to an end. One that sends by itself waits for its probe, or to be switched
        off.
        """
        await db.rows("UPDATE webhook_endpoint SET auto_redrive_since = NULL")
        for _ in range(3):
            await db.rows(_DUE)
            await self.job()
        left = await db.rows("SELECT key, error FROM job WHERE kind = $1", self.kind)
        return [f"a job stays: {row['key']}, {row['error']}" for row in left]


async def _named(workspace: str) -> list[str]:
    """Rows that name a workspace, which is deleted. Jobs end by themselves."""
    rows = await make.stored()
    del rows["job"]
    left = [(table, row) for table, of in rows.items() for row in of if workspace in row and _TOLD not in row]
    return [f"left in {table}: {row}" for table, row in left]


async def _audited(workspace: str) -> None:
    """As each form of the web area does."""
    await audit.record(workspace, "ada@example.org", audit.Entry("thing.done"))


async def _counted(workspace: str) -> None:
    """As whatever adds something does."""
    await quotas.check(workspace, "users", joining.COUNT_PEOPLE, now=clock.now())


_NO_VICTIM: Final = "set_config('deadlock_timeout', '30s', true)"
"""The deletion gives up long before, also where its process gets no CPU for a while."""
ENDS: Final[dict[str, Callable[[str], Awaitable[None]]]] = {"audited": _audited, "counted": _counted}
"""What a request does last. Each asks for the workspace's row."""


async def request_and_deletion(workspace: str, table: str, end: str) -> tuple[int, list[str]]:
    """A request has the rows of a table when the workspace is deleted, and then asks for the row of that. Return how
    many orders, and what does not hold.
    """
    orders, wrong = await request_and(
        partial(changes.delete, workspace), table, partial(ENDS[end], workspace), partial(_named, workspace)
    )
    return orders, [f"{table}, {end}, {what}" for what in wrong]


async def request_and(
    change: Callable[[], Awaitable[object]],
    table: str,
    end: Callable[[], Awaitable[object]],
    look: Callable[[], Awaitable[list[str]]],
) -> tuple[int, list[str]]:
    """A request has the rows of a table when something is changed, and then does `end`. Return how many orders, and
    what does not hold: who fails, and what `look` returns.
    """
    orders = 0
    violations: list[str] = []

    async def request() -> None:
        with contextlib.suppress(DomainError, db.Orphaned):  # the workspace is suspended, or gone
            async with db.transaction():
                await db.rows(f"SELECT {_NO_VICTIM} FROM {table} FOR UPDATE")
                await end()

    async def play(order: Order, patient: bool) -> tuple[Session, Session]:
        nonlocal orders
        orders += 1
        await kept.restore()
        sessions = await interleave([request, change], TABLES, order, patient=patient)
        wrong = [repr(error) for error in (session.error() for session in sessions) if error]
        violations.extend(f"{order}: {what}" for what in wrong + await look())
        return sessions

    await each_order(play)
    return orders, violations
