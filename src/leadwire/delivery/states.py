"""The states of a delivery, and the outcomes of an attempt. Pure.

Rows, pages, metrics and logs have the same words for them. What a row of `delivery` stores is only waiting or queued:
indexes, claims and admission need no more, and a claim that changed a column of an index would cost one entry in each.
The view `every_delivery` tells the exact state, from the columns that the stored one leaves open.

                 retry, put back, not acknowledged
                 +-----------------------+
                 v                       |
    behind --> waiting --> queued --> sending --> delivered, dead
       ^         |                       |            |
       |         +-------> fetched ------+            |
       +------------- redriven, resent ---------------+

    set_aside    from queued, when no worker has survived it; an operator releases it
    cancelled    from any but delivered: its endpoint was removed, its person erased; it can be resent
"""

from collections.abc import Mapping
from typing import Final, Literal, get_args

State = Literal["waiting", "queued", "delivered", "dead", "cancelled"]
"""Of a delivery, as it is stored. `queued`: in the hands of a stream, a worker or a receiver. The last three are ends.

Canceled ones are stored as `cancelled`: the value is older than our spelling."""

ExactState = Literal["waiting", "behind", "set_aside", "queued", "sending", "fetched", "delivered", "dead", "cancelled"]
"""The same, told apart."""

EXACT: Final[Mapping[ExactState, State]] = {
    "waiting": "waiting",  # until it is due, then for its endpoint's window, rate or pause, or for who fetches it
    "behind": "waiting",  # another of its lead or conversation is sent first: its endpoint wants order
    "set_aside": "waiting",  # no worker survived it: it waits for an operator
    "queued": "queued",  # in a stream
    "sending": "queued",  # claimed by a worker, until its lease ends
    "fetched": "queued",  # handed to its receiver, which has to acknowledge it
    "delivered": "delivered",
    "dead": "dead",
    "cancelled": "cancelled",
}
"""How each is stored."""
UNFINISHED: Final = tuple(exact for exact, state in EXACT.items() if state in ("waiting", "queued"))
"""Of what is still to be sent."""

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

OUTCOMES: Final[tuple[Outcome, ...]] = get_args(Outcome)
_OF_STATUS: Final[dict[int, Outcome]] = {2: "delivered", 3: "http_3xx", 4: "http_4xx", 5: "http_5xx"}


def of_status(status: int) -> Outcome:
    """The outcome that an HTTP status stands for: only 200 to 299 acknowledge."""
    return "gone" if status == 410 else _OF_STATUS.get(status // 100, "protocol_error")
