"""Proves what a duplicate came from. Pure.

A worker owns what it has claimed until its lease ends, and nobody but the owner can record it. So a second POST is
allowed only where the first was made and its worker was unable to record it within its lease: it was killed, it was
stopped, or it was cut off from the database. Whatever happens to Redis, to relays or to the API leads to none.

A worker whose host is cut off hears no answers, and its kernel sends what it has in hand once it is on the network
again: for as long after the cut as the cut took, because it waits twice as long before each try.
"""

from collections.abc import Sequence
from typing import Final

from ops.chaos.records import Fault, Post

_RECORDING: Final = 2.0  # seconds from an outcome to its record, on a machine under load
_RETRY: Final = 8.0  # seconds: the longest pause (6) of a process whose server was away, and the try after it
_SLACK: Final = 1.0  # seconds from the last look at the lease to the arrival of the POST
_CUTS: Final = (
    *("restart-postgres", "crash-postgres", "lock-rows", "lock-table"),
    *("cut-primary", "kill-primary", "slow-primary"),
)
"""Faults that keep a worker from recording, although it is alive."""
_UNHEARD: Final = ("cut-worker", "slow-worker")
"""Faults that keep answers from a worker until it no longer waits for them, and let its POSTs arrive late."""


def repeated(post: Post, earlier: Sequence[Post]) -> Post | None:
    """The last of the `earlier` POSTs of the same delivery that made this one needless; None for a rightful retry."""
    return next((one for one in reversed(earlier) if one.good or one.attempt == post.attempt), None)


def cause(post: Post, first: Post, faults: Sequence[Fault], timeout: float) -> Fault | None:
    """Return the fault that kept the outcome of `first` from being recorded, so that `post` repeats it; None without.

    `timeout` is the longest an attempt takes, in seconds; a POST begins only while its lease lasts so much longer.
    """
    if late := _sent_late(post, faults) or _cut_off(post, faults) or _cut_off(first, faults):
        return late
    if post.at < first.at + timeout - _SLACK:
        return None  # the lease of the first cannot have ended: two workers had the delivery at once
    until = first.at + min(first.held, timeout) + _RECORDING
    cuts = []
    for fault in sorted(faults, key=lambda fault: fault.start):
        if fault.kind in _CUTS and fault.start <= until and fault.end >= first.at:
            until = max(until, fault.end + _RETRY)  # what could not be recorded was kept in hand
            cuts.append(fault)
    for fault in faults:
        # A receiver under load reads what a worker sent before it was killed a moment later.
        killed = fault.target == first.sender and fault.kind == "kill-worker"
        if killed and fault.start <= until and fault.end >= first.at:
            return fault
    outlived = first.at + timeout - _SLACK  # no lease ends earlier
    for fault in faults:
        stopped = fault.target == first.sender and fault.kind == "stop-worker"
        if stopped and fault.start <= until and fault.end >= outlived:
            return fault
    return cuts[0] if cuts else None


def _sent_late(post: Post, faults: Sequence[Fault]) -> Fault | None:
    """The stop that fell between a worker's look at its lease and its POST, which it then made when it woke up."""
    for fault in faults:
        if fault.kind == "stop-worker" and fault.target == post.sender and 0 <= post.at - fault.end <= _RECORDING:
            return fault
    return None


def _cut_off(post: Post, faults: Sequence[Fault]) -> Fault | None:
    """The cut of the sender's host that kept an answer from it, or a POST of it from the receiver for a while."""
    for fault in faults:
        until = fault.end + (fault.end - fault.start) + _RECORDING
        ours = fault.kind in _UNHEARD and fault.target == post.sender
        if ours and fault.start <= post.at + post.held + _RECORDING and post.at <= until:
            return fault
    return None
