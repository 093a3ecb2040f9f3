"""What is counted where it happens. What is looked up in the servers now and then is in `monitoring.gauges`.

A label's values are our own enums and names, never an endpoint, a workspace or an id.
"""

import time
from collections.abc import Iterable
from typing import Final

from leadwire.delivery.envelope import EVERY_KIND
from leadwire.delivery.states import OUTCOMES
from leadwire.infrastructure import loop
from leadwire.infrastructure.telemetry.metrics import Gauge, counter, histogram

_OURS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 15, 60, 300)
_THEIRS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 35)  # ends past the deadline
_WHOLE: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 15, 60, 120, 600, 3600)  # with retries

COMMITTED: Final = counter("events_committed", "Events committed to the outbox.", "kind", values=EVERY_KIND)
RELAYED: Final = counter("events_relayed", "Events that became deliveries.")
ADDED: Final = counter(
    "stream_entries_added", "Entries put into the streams.", "by", values=("change", "fan_out", "admit", "reconcile")
)
RECONCILED: Final = counter("deliveries_reconciled", "Deliveries that Redis had lost, queued again.")
REDRIVEN: Final = counter("deliveries_redriven", "Deliveries scheduled again by redrive jobs.")
AUTO_REDRIVES: Final = counter(
    "auto_redrives", "Dead letters sent once to see whether their endpoint answers, and redrives begun when one did.",
    "what", values=("probe", "redrive"),
)  # fmt: skip
HOP_SECONDS: Final = histogram(
    "hop_duration_seconds",
    "Time of each hop. commit: from recording an event to its commit. relay: to its deliveries. claim: from queued to"
    " claimed by a worker. send: the POST. record: from the response to the recorded outcome.",
    "hop",
    bounds=_OURS,
    values=("commit", "relay", "claim", "send", "record"),
)
DISPATCH_SECONDS: Final = histogram(
    "dispatch_delay_seconds",
    "From recording an event to its first POST, without the time that its endpoint's window, rate or order delayed it.",
    bounds=_OURS,
)
END_TO_END_SECONDS: Final = histogram(
    "end_to_end_seconds", "From recording an event to the answer that it is delivered, retries included.", bounds=_WHOLE
)
ATTEMPTS: Final = counter("delivery_attempts", "POSTs to receivers.", "outcome", values=OUTCOMES)
ATTEMPT_SECONDS: Final = histogram(
    "delivery_attempt_duration_seconds",
    "Duration of a POST, from the DNS lookup to the last byte.",
    "outcome",
    bounds=_THEIRS,
    values=OUTCOMES,
)
RETRIED: Final = counter("deliveries_retried", "Failed attempts that will be retried.")
DEAD_LETTERED: Final = counter(
    "dead_letters_made",
    "Deliveries that became dead letters, by the last outcome.",
    "reason",
    values=set(OUTCOMES) - {"delivered"},
)
PUT_BACK: Final = counter(
    "deliveries_put_back", "Deliveries that a worker let wait again because it had read more than it can hold."
)
FENCED: Final = counter("attempts_fenced", "Attempts that did not count, because another worker had recorded one.")
RECLAIMED: Final = counter("stream_entries_reclaimed", "Entries taken over from a worker that is dead or stuck.")
STALE: Final = counter("stream_entries_stale", "Entries without a matching delivery, acknowledged without a POST.")
SET_ASIDE: Final = counter("deliveries_set_aside", "Deliveries set aside after they crashed several workers.")
DISABLED: Final = counter(
    "endpoints_disabled", "Endpoints that were disabled by the system.", "reason", values=("gone", "failing")
)
FAILED: Final = loop.FAILED
CLIENTS_BUILT: Final = counter(
    "transport_clients_built", "HTTP clients built; other POSTs reused one and its connections."
)
AHEAD: Final = Gauge("entries_ahead", "Entries that this worker has read and not begun.")
IN_HAND: Final = Gauge("deliveries_in_hand", "POSTs in progress in this worker.")
SLOTS: Final = Gauge("delivery_slots", "Maximum POSTs in progress in this worker.")

_COMMIT, _RELAY = HOP_SECONDS.labels("commit"), HOP_SECONDS.labels("relay")


def committed(kind: str, start: float, *, relayed: bool) -> None:
    """An event is committed, `relayed` with its deliveries; recording began at `start`, by `time.perf_counter`."""
    COMMITTED.labels(kind).inc()
    RELAYED.inc(relayed)
    _COMMIT.observe(time.perf_counter() - start)


def relayed(ages: Iterable[float]) -> None:
    """Events were fanned out at these ages, in seconds."""
    for age in ages:
        _RELAY.observe(age)
        RELAYED.inc()
