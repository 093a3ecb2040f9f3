"""`leadwire migrate --plan`: what a migration would do to the tables that are there."""

from collections.abc import Iterator, Mapping
from typing import Final

from leadwire.delivery.monitoring.conditions import duration
from leadwire.infrastructure.db import plan
from leadwire.interfaces.cli.runtime import Result

_LARGE: Final = 2**26  # bytes: below, all is read in a moment
_COPIED: Final = 2**22  # bytes a second of a table that is copied in batches; two busy cores did 11 to 18 MiB


async def shown() -> Result:
    """The plan as text, and as JSON."""
    planned, sizes = await plan.plan()
    if not planned:
        return Result({"migrations": [], "sizes": {}}, "nothing to do")
    if not any(migration.steps for migration in planned):
        text = f"{len(planned)} migrations of a new database, all in a moment"
    else:
        text = "\n".join(line for migration in planned for line in _lines(migration, sizes))
    names = {name for migration in planned for step in migration.steps for name in step.locks | step.reads}
    document = {"migrations": planned, "sizes": {name: size for name, size in sizes.items() if name in names}}
    return Result(document, text, note=_NOTE)


_NOTE: Final = """
A lock for a moment waits for whoever uses the table, such as a pg_dump, and lets changes pass meanwhile."""


def _lines(planned: plan.Planned, sizes: Mapping[str, int]) -> Iterator[str]:
    yield f"{planned.migration}  {planned.description}"
    for step in planned.steps:
        yield f"  {step.statement}"
        yield f"      {', '.join(_effects(step, sizes)) or 'in a moment'}"


def _effects(step: plan.Step, sizes: Mapping[str, int]) -> Iterator[str]:
    if locked := sorted(step.locks & sizes.keys()):
        yield f"locks {' and '.join(locked)} for a moment"
    large = {name: sizes[name] for name in sorted(step.reads & sizes.keys()) if sizes[name] > _LARGE}
    if large:
        told = " and ".join(f"{size / 2**30:,.1f} GB of {name}" for name, size in large.items())
        took = f" in batches, for up to {duration(sum(large.values()) / _COPIED)}" if step.copies else ""
        verb, changes = "copies" if took else "reads", "wait until that is done" if step.stops else "go on"
        yield f"{verb} {told}{took}; changes {changes}"
