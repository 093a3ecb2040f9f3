"""What the wire counts where it happens. What it looks up in the servers now and then is in `gauges`.

A label's values are the wire's own enums and names, never an endpoint, a workspace or an id.
"""

import time
from collections.abc import Iterable
from typing import Final

from leadwire.delivery.envelope import KINDS
from leadwire.delivery.states import OUTCOMES
from leadwire.infrastructure.telemetry.metrics import Counter, Gauge, Histogram

_OURS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 15, 60, 300)
_THEIRS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 35)  # ends past the deadline
_WHOLE: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 15, 60, 120, 600, 3600)  # with retries

HOPS: Final = ("commit", "relay", "claim", "send", "record")
LOOPS: Final = ("relay", "add", "deliver", "record", "observe")

COMMITTED: Final = Counter("events_committed", "Events committed to the outbox.", "kind", values=KINDS)
RELAYED: Final = Counter("events_relayed", "Events that became deliveries.")
ADDED: Final = Counter("stream_entries_added", "Entries put into the streams.", "by", values=("fan_out", "admit"))
RECONCILED: Final = Counter("deliveries_reconciled", "Deliveries that Redis had lost, queued again.")
REDRIVEN: Final = Counter("deliveries_redriven", "Deliveries put back to wait by redrive jobs.")
HOP_SECONDS: Final = Histogram(
    "hop_duration_seconds",
    "Time at each hop. commit: recording to committed. relay: recording to fanned out. claim: queued to claimed by a"
    " worker. send: the POST. record: answer to outcome written.",
    "hop",
    bounds=_OURS,
    values=HOPS,
)
DISPATCH_SECONDS: Final = Histogram(
    "dispatch_delay_seconds",
    "From an event's recording to its first POST, without the time its endpoint's own window, rate or order held it:"
    " the part that is ours.",
    bounds=_OURS,
)
END_TO_END_SECONDS: Final = Histogram(
    "end_to_end_seconds", "From an event's recording to its delivery written down, retries included.", bounds=_WHOLE
)
ATTEMPTS: Final = Counter("delivery_attempts", "POSTs to receivers.", "outcome", values=OUTCOMES)
ATTEMPT_SECONDS: Final = Histogram(
    "delivery_attempt_duration_seconds",
    "How long a POST took, from the name look-up to the last byte.",
    "outcome",
    bounds=_THEIRS,
    values=OUTCOMES,
)
RETRIED: Final = Counter("deliveries_retried", "Failed attempts after which another one is due.")
DEAD_LETTERED: Final = Counter(
    "dead_letters_made", "Deliveries given up, by the last outcome.", "reason", values=set(OUTCOMES) - {"delivered"}
)
FENCED: Final = Counter("attempts_fenced", "Attempts that came too late to count: another worker had recorded.")
RECLAIMED: Final = Counter("stream_entries_reclaimed", "Entries taken over from a worker that is dead or stuck.")
STALE: Final = Counter("stream_entries_stale", "Entries that the ledger no longer knows: acknowledged without a POST.")
SET_ASIDE: Final = Counter("deliveries_set_aside", "Deliveries that no worker survived, taken out of the way.")
DISABLED: Final = Counter(
    "endpoints_disabled", "Endpoints that were disabled by the system.", "reason", values=("gone", "failing")
)
FAILED: Final = Counter("loop_failures", "Rounds of a loop that failed and are tried again.", "loop", values=LOOPS)
CLIENTS_BUILT: Final = Counter(
    "transport_clients_built", "HTTP clients built, each with connections of its own; the rest reused one."
)
IN_HAND: Final = Gauge("deliveries_in_hand", "POSTs that this worker has under way.")
SLOTS: Final = Gauge("delivery_slots", "POSTs that this worker may have under way at the most.")

_COMMIT, _RELAY = HOP_SECONDS.cell("commit"), HOP_SECONDS.cell("relay")


def committed(kind: str, start: float) -> None:
    """An event is committed whose recording began at `start`, by `time.perf_counter`."""
    COMMITTED.cell(kind).value += 1
    _COMMIT.observe(time.perf_counter() - start)


def relayed(ages: Iterable[float]) -> None:
    """Events were fanned out at these ages, in seconds."""
    for age in ages:
        _RELAY.observe(age)
        RELAYED.cell().value += 1
