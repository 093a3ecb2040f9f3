"""Which fault a duplicate came from. Pure.

At-least-once allows a second POST only when the first was made and could not be written down: its worker died or
slept while it had the delivery in hand, or Redis forgot who had it, or a sleeping relay put its key into a stream
again. Anything else is a mistake of ours.
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


def cause(first: Post, second: Post, faults: Sequence[Fault], timeout: float) -> str | None:
    """The kind of the fault that fell into the time in which `first` was in a worker's hands; None when none did.

    `timeout` is the longest an attempt takes, in seconds. A worker's death explains the repetition of its own POSTs
    alone; one that slept may also have made the second, with an entry that was another's by then.
    """
    until = first.at + min(first.held, timeout) + _RECORDING
    for fault in sorted(faults, key=lambda fault: fault.start):
        if "postgres" in fault.kind and fault.start <= until and fault.end >= first.at:
            until = max(until, fault.end + _RETRY)  # what could not be recorded was kept in hand
    guilty = {"kill-worker": {first.sender}, "stop-worker": {first.sender, second.sender}}
    for kind, tail in _TAIL.items():
        for fault in faults:
            if fault.kind != kind or fault.target not in guilty.get(kind, {fault.target}):
                continue
            end = fault.start if kind == "kill-worker" else fault.end + tail
            if fault.start <= until and end >= first.at:
                return kind
    return None
