"""What a worker shows of its work: metrics, log lines, and whether it is alive."""

import logging
import time
from collections.abc import Sequence
from typing import Final

from leadwire.delivery import metrics
from leadwire.delivery.states import OUTCOMES
from leadwire.delivery.worker.attempt import Attempt
from leadwire.infrastructure import telemetry

_GRACE: Final = 60.0  # seconds beyond what every wait is bounded by
_COUNTED: Final = {outcome: metrics.ATTEMPTS.labels(outcome) for outcome in OUTCOMES}
_TOOK: Final = {outcome: metrics.ATTEMPT_SECONDS.labels(outcome) for outcome in OUTCOMES}
_CLAIM, _SEND, _RECORD = (metrics.HOP_SECONDS.labels(hop).observe for hop in ("claim", "send", "record"))
_DISPATCH, _END_TO_END = metrics.DISPATCH_SECONDS.observe, metrics.END_TO_END_SECONDS.observe


def count_attempts(done: Sequence[Attempt]) -> None:
    """What `done`, recorded just now, took at every hop."""
    now = time.perf_counter()
    for attempt in done:
        job, took = attempt.job, attempt.end - attempt.start
        _COUNTED[attempt.outcome].inc()
        _TOOK[attempt.outcome].observe(took)
        _CLAIM(job.queued)
        _SEND(took)
        _RECORD(now - attempt.end)
        if job.entry.key.attempts == 0 and job.generation == 1:
            _DISPATCH(job.relaying + job.queued + attempt.start - job.claimed)
        if attempt.outcome == "delivered":
            _END_TO_END(job.age + attempt.end - job.claimed)


def log_attempts(done: Sequence[Attempt]) -> None:
    """Log each attempt that failed; at `debug` the others, too. No URL and no body: a delivery is found by its ids."""
    everything = telemetry.enabled(logging.DEBUG)
    for attempt in done:
        delivered = attempt.outcome == "delivered"
        if delivered and not everything:
            continue
        job = attempt.job
        telemetry.log(
            "delivery.attempted",
            level=logging.DEBUG if delivered else logging.INFO,
            **job.names,
            trace_id=telemetry.trace_id(job.traceparent),
            attempt=job.number,
            outcome=attempt.outcome,
            http_status=attempt.http_status,
            ms=attempt.duration_ms,
        )


class Liveness:
    """Whether due work moves: when each part of the worker last did something, by the monotonic clock."""

    def __init__(self, timeout: float) -> None:
        self._limit = timeout + _GRACE
        self.polled = self.moved = self.settled = time.monotonic()
        self.refused = float("-inf")  # when the database was away last
        self._replica_since: float | None = None

    def turned(self, *, recording: bool = False) -> None:
        """A round of asking for work, or of recording what came of it, has ended, or a server has refused it. One that
        fails for a reason of ours is none: it may fail for ever.
        """
        if recording:
            self.settled = time.monotonic()
        else:
            self.polled = time.monotonic()

    def streams_answered(self, *, replica: bool) -> None:
        """The streams have answered, or what was asked is no primary any more."""
        self._replica_since = (self._replica_since or time.monotonic()) if replica else None

    def stuck(self, posts: int, unrecorded: int) -> str | None:
        """Why only a restart would help: due work has not moved for longer than anything may last.

        A server that refuses is no such reason: the loops turn, and go on trying. One that never answers is: perhaps
        only this connection to it is broken. So is a Redis that stays a replica: connecting again did not help.
        """
        oldest = time.monotonic() - self._limit
        if posts and self.moved < oldest:
            return f"none of {posts} POSTs has ended for more than {self._limit:g} s"
        if unrecorded and self.settled < oldest:
            return f"{unrecorded} outcomes have not been recorded for more than {self._limit:g} s"
        if self.polled < oldest:
            return f"nothing has been asked of the streams for more than {self._limit:g} s"
        if self._replica_since is not None and self._replica_since < oldest:
            return f"Redis has been a replica for more than {self._limit:g} s: its address may mean another server now"
        return None
