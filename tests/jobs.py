"""Jobs are run by hand, as the background process runs them."""

from leadwire.domain.accounts import reads as accounts
from leadwire.infrastructure import db
from leadwire.infrastructure.jobs.kinds import KINDS
from leadwire.infrastructure.jobs.runner import Runner
from leadwire.processes.background import find_kinds

_DUE = "UPDATE job SET due_at = now() WHERE kind = ANY($1) AND owner IS NULL AND failed_at IS NULL"


async def run(*names: str) -> None:
    """Do all that is due of these kinds, one round of a chore included, and what their `find` returns."""
    find_kinds()
    kinds = {name: KINDS[name] for name in names} | {
        f"{name}.find": KINDS[f"{name}.find"] for name in names if f"{name}.find" in KINDS
    }
    await make_due(*(name for name, kind in kinds.items() if kind.every is not None))
    await Runner(accounts.suspended, kinds).run_all()


async def make_due(*names: str) -> None:
    """Let the jobs of these kinds be due now that wait for their time."""
    await db.rows(_DUE, list(names))
