"""The states of a delivery, the outcomes of an attempt, and what follows from which. Pure.

Rows, pages, metrics and logs have the same words for them.
"""

from collections.abc import Sequence
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Final, Literal, NamedTuple, get_args

State = Literal["waiting", "queued", "delivered", "dead", "cancelled"]
"""Of a delivery. `waiting`: due at `due_at`. `queued`: in a stream or in a worker's hands. The rest are ends.

Canceled ones are stored as `cancelled`: the value is older than our spelling."""

Outcome = Literal[
    "delivered",
    "http_3xx",
    "http_4xx",
    "http_5xx",
    "timeout",
    "dns_error",
    "connect_error",
    "tls_error",
    "protocol_error",
    "blocked_address",
    "gone",
]
"""Of an attempt. `gone` is a 410: the receiver wants no more."""

STATES: Final[tuple[State, ...]] = get_args(State)
OUTCOMES: Final[tuple[Outcome, ...]] = get_args(Outcome)
_OF_STATUS: Final[dict[int, Outcome]] = {2: "delivered", 3: "http_3xx", 4: "http_4xx", 5: "http_5xx"}
_LONGEST_RETRY_AFTER: Final = 24 * 3600.0  # seconds a receiver's Retry-After may put a retry off


class NextStep(NamedTuple):
    """The state a delivery goes to; `delay` is the seconds until it is due, when it waits."""

    state: State
    delay: float = 0.0


def of_status(status: int) -> Outcome:
    """The outcome that an HTTP status stands for: only 200 to 299 acknowledge."""
    return "gone" if status == 410 else _OF_STATUS.get(status // 100, "protocol_error")


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


def retry_after(header: str | None, now: datetime) -> float:
    """Seconds that a `Retry-After` header asks for (RFC 9110 section 10.2.3); 0 when it is absent or nonsense."""
    if not header:
        return 0.0
    if header.isascii() and header.isdigit():
        return float(header[:9])
    try:
        return max(0.0, (parsedate_to_datetime(header) - now).total_seconds())
    except (ValueError, TypeError, OverflowError):
        return 0.0
