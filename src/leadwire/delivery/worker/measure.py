"""What a batch of attempts adds to the metrics: a few additions for each, because this runs for every delivery."""

import time
from collections.abc import Sequence
from typing import Final

from leadwire.delivery import metrics
from leadwire.delivery.states import OUTCOMES
from leadwire.delivery.worker.attempt import Attempt

_COUNTED: Final = {outcome: metrics.ATTEMPTS.cell(outcome) for outcome in OUTCOMES}
_TOOK: Final = {outcome: metrics.ATTEMPT_SECONDS.cell(outcome) for outcome in OUTCOMES}
_CLAIM, _SEND, _RECORD = (metrics.HOP_SECONDS.cell(hop).observe for hop in ("claim", "send", "record"))
_DISPATCH, _END_TO_END = metrics.DISPATCH_SECONDS.cell().observe, metrics.END_TO_END_SECONDS.cell().observe


def attempts(done: Sequence[Attempt]) -> None:
    """What `done`, recorded just now, took at every hop."""
    now = time.perf_counter()
    for one in done:
        job, took = one.job, one.end - one.start
        _COUNTED[one.outcome].value += 1
        _TOOK[one.outcome].observe(took)
        _CLAIM(job.queued)
        _SEND(took)
        _RECORD(now - one.end)
        if job.entry.key.attempts == 0 and job.drive == 1:
            _DISPATCH(job.relaying + job.queued + one.start - job.claimed)
        if one.outcome == "delivered":
            _END_TO_END(job.age + now - job.claimed)


def ends(fenced: int, retried: int, dead: Sequence[Attempt]) -> None:
    """How many came too late to count, how many will be tried again, and those that will not."""
    metrics.FENCED.cell().add(fenced)
    metrics.RETRIED.cell().add(retried)
    for one in dead:
        metrics.DEAD_LETTERED.cell(one.outcome).add()
