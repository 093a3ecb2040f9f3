"""Telling people what happens while nobody looks. Any number of processes may do so at once."""

import asyncio
import itertools
import logging
from collections.abc import Collection
from typing import Final

from leadwire.delivery import metrics
from leadwire.domain.mail import reads as mail
from leadwire.domain.notices import changes, reads
from leadwire.domain.notices.schema import SWEPT, Kind
from leadwire.infrastructure import telemetry
from leadwire.infrastructure.loop import Loop

_EVERY: Final = 20.0  # seconds
_DEAD_LETTERS_EVERY: Final = 45  # rounds: this look costs most, and nobody waits for it


async def run(stop: asyncio.Event) -> None:
    """Look every 20 s until `stop` is set, where mail is sent at all."""
    rounds = itertools.count()

    async def look() -> float:
        seldom = next(rounds) % _DEAD_LETTERS_EVERY == 0
        await sweep([kind for kind in SWEPT if seldom or kind != "dead_letters"])
        return _EVERY

    if mail.enabled():
        await Loop("notices", look).run(stop)


async def sweep(kinds: Collection[Kind] = SWEPT) -> int:
    """Tell of all that is new, each workspace in a transaction of its own: one that fails does not hold up the others.
    Return how many mails were written.
    """
    await changes.forget()
    written = 0
    for kind in kinds:
        for workspace in await reads.due(kind):
            try:
                written += await changes.tell(workspace, kind)
            except Exception as error:  # noqa: BLE001 - the next round tries again
                metrics.FAILED.labels("notices").inc()
                telemetry.log("notices.failed", level=logging.WARNING, error=error, workspace_id=workspace, kind=kind)
    if written:
        telemetry.log("notices.written", mails=written)
    return written
