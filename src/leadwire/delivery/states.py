"""The states of a delivery and the outcomes of an attempt: the same in rows, pages, metrics and logs. Pure."""

from typing import Final, Literal, get_args

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


def of_status(status: int) -> Outcome:
    """The outcome that an HTTP status stands for: only 200 to 299 acknowledge."""
    if 200 <= status <= 299:
        return "delivered"
    if status == 410:
        return "gone"
    if 300 <= status <= 399:
        return "http_3xx"
    if 400 <= status <= 499:
        return "http_4xx"
    return "http_5xx" if 500 <= status <= 599 else "protocol_error"
