"""What follows an attempt: when the next one is, or that there is none. Pure."""

from collections.abc import Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final, NamedTuple

from leadwire.delivery.states import Outcome, State

_LONGEST_RETRY_AFTER: Final = 24 * 3600.0  # seconds a receiver's Retry-After may put a retry off


class NextStep(NamedTuple):
    """The state a delivery goes to; `delay` is the seconds until it is due, when it waits."""

    state: State
    delay: float = 0.0


def after(
    outcome: Outcome, number: int, schedule: Sequence[int], *, retry_after: float = 0.0, test: bool = False
) -> NextStep:
    """What follows attempt `number` (1 is the first) with this `outcome`.

    `schedule` holds the seconds before each retry: three of them (setting `retry_schedule`) make four attempts.
    `retry_after` is what the receiver asks for, in seconds: it can only put a retry off. A test is tried once; after a
    410 nothing is tried again.
    """
    if outcome == "delivered":
        return NextStep("delivered")
    if test or outcome == "gone" or number > len(schedule):
        return NextStep("dead")
    return NextStep("waiting", max(float(schedule[number - 1]), min(retry_after, _LONGEST_RETRY_AFTER)))


def asked_for(header: str | None, now: datetime) -> float:
    """Seconds that a `Retry-After` header asks for (RFC 9110 section 10.2.3); 0 when it is absent or nonsense."""
    if not header:
        return 0.0
    if header.isascii() and header.isdigit():
        return float(header[:9])
    try:
        moment = parsedate_to_datetime(header)
        return max(0.0, ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - now).total_seconds())
    except (ValueError, TypeError, OverflowError):
        return 0.0
