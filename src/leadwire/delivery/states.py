"""The states of a delivery, and the outcomes of an attempt. Pure.

Rows, pages, metrics and logs have the same words for them.
"""

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
    "proxy_error",
    "gone",
]
"""Of an attempt. `gone` is a 410: the receiver wants no more."""

STATES: Final[tuple[State, ...]] = get_args(State)
OUTCOMES: Final[tuple[Outcome, ...]] = get_args(Outcome)
_OF_STATUS: Final[dict[int, Outcome]] = {2: "delivered", 3: "http_3xx", 4: "http_4xx", 5: "http_5xx"}


def of_status(status: int) -> Outcome:
    """The outcome that an HTTP status stands for: only 200 to 299 acknowledge."""
    return "gone" if status == 410 else _OF_STATUS.get(status // 100, "protocol_error")
