"""The admission window: how many deliveries of one endpoint may be queued at a time. Pure.

It adapts like TCP's: one more per success, half for each failure that holds a worker up. So an endpoint that hangs
takes a few places of a worker, never all of them, and its backlog stays in PostgreSQL instead of Redis's memory.
"""

from collections.abc import Iterable
from typing import Final

from leadwire.delivery.states import Outcome

LARGEST: Final = 256
_SLOW_FAILURES: Final = frozenset(("timeout", "dns_error", "connect_error", "tls_error"))
_ENOUGH: Final = 8  # halvings from the largest window to the smallest


def signals(outcomes: Iterable[Outcome]) -> tuple[int, int]:
    """How far a batch of outcomes opens the window (successes) and how often it halves it, at most 8 times.

    `worker.health` does so, in SQL on the row as it is: first the halving, then the opening, from 1 to `LARGEST`.
    """
    outcomes = list(outcomes)
    return outcomes.count("delivered"), min(sum(outcome in _SLOW_FAILURES for outcome in outcomes), _ENOUGH)
