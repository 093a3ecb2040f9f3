"""Proves what a duplicate came from. Pure.

A worker owns what it has claimed as long as it lives, and nobody but the owner can record it. So a second POST is
allowed only where the first was made and its worker did not record it: it was killed or stopped, its outcome was
refused, or PostgreSQL has forgotten the claim. A database that is away or locked only keeps outcomes in hand for
longer. Whatever happens to Redis, to relays or to the API leads to none.

A worker whose host is cut off hears no answers, and its kernel sends what it has in hand once it is on the network
again: for as long after the cut as the cut took, because it waits twice as long before each try.
"""

from collections.abc import Sequence
from typing import Final

from ops.chaos.matched import Made
from ops.chaos.records import FETCHED, Fault, Post

_RECORDING: Final = 2.0  # seconds from an outcome to its record
_IN_HAND: Final = 30.0  # the most that may be on a machine under load, where the worker recorded nothing later either
_RETRY: Final = 8.0  # seconds: the longest pause (6) of a process whose server was away, and the try after it
_SLACK: Final = 1.0  # seconds from the last look at the lease to the arrival of the POST
_KEPT: Final = ("restart-postgres", "lock-rows", "lock-table", "hold-endpoint")
"""Faults that keep a worker from recording, although it is alive: it goes on trying."""
_CUTS: Final = (
    "crash-postgres",
    *("cut-primary", "kill-primary", "slow-primary"),
    *("raise-claim", "raise-record"),  # of one customer, and told of nobody else
)
"""Faults after which what a living worker has in hand may be another's."""
_UNHEARD: Final = ("cut-worker", "slow-worker")
"""Faults that keep answers from a worker until it no longer waits for them, and let its POSTs arrive late."""


def repeated(made: Made, earlier: Sequence[Made]) -> Made | None:
    """The last of the `earlier` POSTs of the same delivery that made this one needless; None for a rightful retry, for
    what was sent before and only read later, and where somebody asked to send it again.
    """
    alike = (one for one in reversed(earlier) if one.generation == made.generation and not made.read_late(one))
    return next(
        (one for one in alike if (one.post.good and not one.unheard) or one.post.attempt == made.post.attempt), None
    )


def cause(made: Made, before: Made, faults: Sequence[Fault], timeout: float, recorded: float = 0.0) -> Fault | None:
    """Return the fault that kept the outcome of `before` from being recorded, so that `made` repeats it; None without.

    `timeout` is the longest an attempt takes, in seconds; a POST begins only while its lease lasts so much longer. A
    fault of the database counts where `before` was under way during it, or what came of it was in hand. `recorded` is
    when the worker made its next POST to this endpoint that it has recorded: outcomes are recorded in order.
    """
    post, first = made.post, before.post
    if post.sender == FETCHED:
        return None  # its leases are rows, and nobody else hands them out
    if late := _sent_late(post, faults) or _cut_off(post, faults) or _cut_off(first, faults):
        return late
    if before.settled(post.attempt):
        return None  # its outcome was recorded, whatever happened near it
    if post.at < first.at + timeout - _SLACK:
        return None  # the lease of the first cannot have ended: two workers had the delivery at once
    ended = first.at + min(first.held, timeout)
    until = max(ended + _RECORDING, min(recorded, ended + _IN_HAND))
    cuts = []
    for fault in sorted(faults, key=lambda fault: fault.start):
        if fault.kind in (*_KEPT, *_CUTS) and fault.start <= until and fault.end + _RETRY >= first.at:
            until = max(until, fault.end + _RETRY)  # what could not be recorded was kept in hand, or comes behind that
            cuts += [fault] * (fault.kind in _CUTS and fault.end >= first.at)
    return _ended(first, until, timeout, faults) or (cuts[0] if cuts else None)


def _ended(first: Post, until: float, timeout: float, faults: Sequence[Fault]) -> Fault | None:
    """The kill of the worker that made a POST, or its stop for longer than the lease, before it could record it."""
    outlived = first.at + timeout - _SLACK  # no lease ends earlier
    for fault in faults:
        if fault.target != first.sender or fault.start > until:
            continue
        # A receiver under load reads what a worker sent before it was killed a moment later.
        if fault.kind == "kill-worker" and fault.end >= first.at:
            return fault
        if fault.kind == "stop-worker" and fault.end >= outlived:
            return fault
    return None


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
