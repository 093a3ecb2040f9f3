"""Jobs are run by hand, as the background process runs them."""

from collections.abc import Sequence

import pytest

from leadwire.delivery.endpoints import discard as discards
from leadwire.domain.accounts import reads as accounts
from leadwire.domain.search import jobs as search
from leadwire.infrastructure import db
from leadwire.infrastructure.jobs import Claimed, remove
from leadwire.infrastructure.jobs.kinds import KINDS
from leadwire.infrastructure.jobs.runner import Runner
from leadwire.processes.background import find_kinds

_REDRIVEN = "SELECT coalesce(sum(done), 0) FROM redrive_job"
_DUE = "UPDATE job SET due_at = now() WHERE kind = ANY($1) AND due_at > now() AND owner IS NULL AND failed_at IS NULL"


def runner(*names: str) -> Runner:
    """A process that does jobs of these kinds, and looks for what nobody adds."""
    find_kinds()
    return Runner(accounts.suspended, {name: KINDS[name] for name in _with_finding(names)})


async def run(*names: str, early: bool = False) -> None:
    """Do all that is due of these kinds, one round of a chore included, and what their `find` returns. `early`: also
    what waits for its time, or for its next try.
    """
    running = runner(*names)
    await make_due(*(name for name in _with_finding(names) if early or KINDS[name].every is not None))
    await running.run_all()


async def redrive() -> int:
    """Let each redrive take a step. Return how many deliveries wait again."""
    before = await db.value(_REDRIVEN)
    await make_due("redrive")
    await runner("redrive").run_all()
    return int(await db.value(_REDRIVEN) - before)


async def discard() -> int:
    """Cancel a batch for each endpoint that it is asked for. Return how many deliveries."""
    canceled = 0
    for row in await db.rows("SELECT key FROM job WHERE kind = 'discard' ORDER BY since"):
        if count := await discards.step(row["key"]):
            canceled += count
        else:
            await remove("discard", row["key"])
    return canceled


async def make_due(*names: str) -> None:
    """Let the jobs of these kinds be due now that wait for their time."""
    await db.rows(_DUE, list(names))


def _with_finding(names: Sequence[str]) -> list[str]:
    return [name for of in names for name in (of, f"{of}.find") if name in KINDS]


async def find(kind: str) -> None:
    """Run what makes the jobs of a kind, if that is a kind of its own."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(search, "DIRECT", 0)  # or it would write documents itself
        if finding := KINDS.get("search.take" if kind == "search" else f"{kind}.find"):
            await finding.run([Claimed("", "")])
