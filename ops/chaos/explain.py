"""Finds the fault that caused a duplicate. Pure.

At-least-once delivery allows a second POST only when the outcome of the first could not be recorded: its worker was
killed or stopped while it held the delivery, or Redis lost its claim, or a relay that had been stopped put its key
into a stream again. Any other duplicate is a bug.
"""

from collections.abc import Sequence
from typing import Final

from ops.chaos.records import Fault, Post

_RECORDING: Final = 2.0  # seconds from an outcome to its record and acknowledgement, on a machine under load
_RETRY: Final = 8.0  # seconds: the longest pause (6) of a process whose server was away, and the try after it
_TAIL: Final[dict[str, float]] = {
    "kill-worker": 0.0,  # after its start: the process that comes next is another one
    "stop-worker": _RECORDING,
    "stop-relay": _RECORDING,
    "flush-redis": _RETRY,
    "crash-redis": _RETRY,
    "truncate-redis": _RETRY,
    "empty-redis": _RETRY,
}
"""The faults that may lead to duplicates, most particular first, and how long after their end they still do."""


def repeated(post: Post, earlier: Sequence[Post]) -> Post | None:
    """The last of the `earlier` POSTs of the same delivery that made this one needless; None for a rightful retry."""
    return next((one for one in reversed(earlier) if one.good or one.attempt == post.attempt), None)


def cause(post: Post, earlier: Sequence[Post], faults: Sequence[Fault], timeout: float) -> str | None:
    """The kind of the fault that fell into the time in which what `post` repeats was in a worker's hands, if any did.

    `timeout` is the longest an attempt takes, in seconds. A worker's death explains the repetition of its own POSTs
    alone. One that slept may have made either, or have woken to record as a failure what another one has in hand.
    With two entries of one delivery, which Redis and relays are to blame for, two workers can have it in hand; one
    worker alone knows what it has.
    """
    first = repeated(post, earlier)
    assert first is not None
    until = first.at + min(first.held, timeout) + _RECORDING
    for fault in sorted(faults, key=lambda fault: fault.start):
        if "postgres" in fault.kind and fault.start <= until and fault.end >= first.at:
            until = max(until, fault.end + _RETRY)  # what could not be recorded was kept in hand
    for kind, tail in _TAIL.items():
        for fault in faults:
            end = fault.start if kind == "kill-worker" else fault.end + tail
            in_time = fault.start <= min(until, post.at) and end >= first.at
            if fault.kind == kind and in_time and _guilty(fault, post, first, earlier):
                return kind
    return None


def _guilty(fault: Fault, post: Post, first: Post, earlier: Sequence[Post]) -> bool:
    if fault.kind == "kill-worker":
        return fault.target == first.sender
    if fault.kind == "stop-worker":
        return fault.target in {post.sender, *(one.sender for one in earlier)}
    return post.sender != first.sender
