"""Whether receivers can be reached at all: of the endpoints that were tried lately, how many fail, and for what reason.

Endpoints are counted, not attempts, so that one that fails often weighs no more than another. An endpoint fails when
its last attempt has failed.
"""

from typing import Final

from leadwire.delivery.states import OUTCOMES, Outcome
from leadwire.infrastructure.db.queries import query
from leadwire.infrastructure.db.statements import load
from leadwire.infrastructure.telemetry.metrics import LookedUp

_MINUTES: Final = 5
_FEW: Final = 3  # endpoints; fewer that fail are receivers of their own, at night perhaps all that are tried
_ANSWERED: Final[frozenset[Outcome]] = frozenset(("http_3xx", "http_4xx", "http_5xx", "gone"))

TRIED: Final = LookedUp(
    "endpoints_tried", f"Endpoints that were tried within {_MINUTES} minutes, by how the last attempt ended.", "outcome"
)
FAILING: Final = LookedUp(
    "endpoints_failing_ratio",
    f"Share of them whose last attempt failed; 0 where fewer than {_FEW} did. cause refused: most of these receivers"
    " have answered. cause unreached: most have not, perhaps because of our own way out.",
    "cause",
)

_TRIED: Final = load(__file__)["tried"]


async def update() -> None:
    """Look it up and show it. Raise what the database raises."""
    tried = dict.fromkeys(OUTCOMES, 0) | {
        row["last_outcome"]: row["count"] for row in await _TRIED.rows(minutes=_MINUTES)
    }
    TRIED.show_all({(outcome,): count for outcome, count in tried.items()})
    failing = sum(tried.values()) - tried["delivered"]
    unreached = failing - sum(tried[outcome] for outcome in _ANSWERED)
    cause = "unreached" if unreached * 2 >= failing else "refused"
    FAILING.show_all({(cause,): failing / sum(tried.values()) if failing >= _FEW else 0.0})


@query()
async def lately() -> list[str]:
    """Return the URLs that were tried within the last hour or two, the latest first; at most 100."""
