"""The whole instance, for those who operate it: every workspace's events together."""

import contextlib
from collections.abc import Iterator
from typing import Final

from leadwire.delivery import epochs
from leadwire.delivery.epochs import Began
from leadwire.delivery.monitoring import conditions, full_check, ledger, status
from leadwire.delivery.monitoring.conditions import CONDITIONS, Firing
from leadwire.delivery.monitoring.ledger import Check
from leadwire.delivery.monitoring.status import Status
from leadwire.infrastructure import clock, redis_pool, settings
from leadwire.infrastructure.jobs import reads as jobs
from leadwire.infrastructure.redis_pool import AWAY

last_check: Final = full_check.last
ask_for_check: Final = full_check.ask
begun: Final = epochs.begun


async def now(*, finished: bool = False, patience: float = status.PATIENCE) -> Status:
    """Return streams, lag, workers, what is overdue; with `finished`, also how many deliveries are done. `patience`:
    seconds until Redis counts as away.
    """
    return await status.read(redis_pool.client(), settings.get().stream_shards, finished=finished, patience=patience)


async def firing(present: Status | None) -> list[Firing]:
    """Return what needs somebody, as the relay that observes has found it, and what this process sees by itself.

    None: PostgreSQL does not tell how delivery stands.
    """
    held = None
    with contextlib.suppress(*AWAY):
        if (present is None or present.streams is not None) and (client := redis_pool.client()) is not None:
            held = await conditions.firing(client)
    names = {condition.name for condition in held or ()}
    seen = [condition for condition in _seen(present, observed=held is not None) if condition.name not in names]
    return [*seen, *(held or ())]


def _seen(present: Status | None, *, observed: bool) -> Iterator[Firing]:
    refused = next(condition for condition in CONDITIONS if condition.name == "WritesRefused")
    for reason, count in refused.values().items():
        says = f"PostgreSQL has refused {count:.0f} changes of this process within a minute: {reason}."
        yield Firing(refused.name, refused.severity, says, refused.command)
    if present is None:
        says = "PostgreSQL does not tell in time how delivery stands: somebody holds a lock, or it is too busy."
        yield Firing("DatabaseDown", "page", says, "leadwire doctor")
        return
    if present.streams is None:
        says = "Redis cannot be reached. Nothing is lost: events wait in PostgreSQL and are sent when it is back."
        yield Firing("RedisDown", "page", says, "leadwire doctor")
    elif not observed:
        yield Firing("NothingKnown", "page", "No relay looks how delivery is doing.", "leadwire relay")
    if present.workers == []:
        yield Firing("ProcessMissing", "page", "No worker asks for work: nothing is sent.", "leadwire deliver")
    if (seconds := present.background_seconds) is None or seconds > jobs.UNATTENDED:
        says = "No background process runs: no mail is sent, and search finds nothing new."
        since = None if seconds is None else clock.ago(seconds=seconds)
        yield Firing("ProcessMissing", "page", says, "leadwire background", since)


async def check_ledger() -> tuple[list[Check], bool, list[Began]]:
    """Check what must always hold. Reads every delivery.

    Return the checks, whether Redis could be asked, and when the database became another server, the latest first.
    """
    return *await ledger.check(redis_pool.client(), settings.get()), await begun()
