"""Whether receivers can be reached at all: of the endpoints that were tried lately, how many fail, and for what reason.

Endpoints are counted, not attempts, so that one that fails often weighs no more than another. An endpoint fails when
its last attempt has failed.
"""

from typing import Final

from leadwire.delivery.states import OUTCOMES, Outcome
from leadwire.infrastructure.db.statements import sql
from leadwire.infrastructure.telemetry.metrics import Gauge

_MINUTES: Final = 5
_FEW: Final = 3  # endpoints; fewer that fail are receivers of their own, at night perhaps all that are tried
_ANSWERED: Final[frozenset[Outcome]] = frozenset(("http_3xx", "http_4xx", "http_5xx", "gone"))

TRIED: Final = Gauge(
    "endpoints_tried", f"Endpoints that were tried within {_MINUTES} minutes, by how the last attempt ended.", "outcome"
)
FAILING: Final = Gauge(
    "endpoints_failing_ratio",
    f"Share of them whose last attempt failed; 0 where fewer than {_FEW} did. cause refused: most of these receivers"
    " have answered. cause unreached: most have not, perhaps because of our own way out.",
    "cause",
)

_TRIED: Final = sql(f"""
SELECT last_outcome, count(*) FROM (
    SELECT DISTINCT ON (endpoint_id) last_outcome FROM endpoint_hour
    WHERE hour >= date_trunc('hour', now() - interval '{_MINUTES} minutes')
        AND last_at > now() - interval '{_MINUTES} minutes'
    ORDER BY endpoint_id, hour DESC) AS latest
GROUP BY 1""")
_LATELY: Final = sql("""
SELECT e.url FROM endpoint_hour h JOIN webhook_endpoint e ON e.id = h.endpoint_id
WHERE h.hour >= date_trunc('hour', now() - interval '1 hour') AND e.url NOT LIKE 'pull:%'
GROUP BY e.id ORDER BY max(h.last_at) DESC LIMIT 100""")


async def update() -> None:
    """Look it up and show it. Raise what the database raises."""
    tried = dict.fromkeys(OUTCOMES, 0) | {row["last_outcome"]: row["count"] for row in await _TRIED.rows()}
    TRIED.show_all({(outcome,): count for outcome, count in tried.items()})
    failing = sum(tried.values()) - tried["delivered"]
    unreached = failing - sum(tried[outcome] for outcome in _ANSWERED)
    cause = "unreached" if unreached * 2 >= failing else "refused"
    FAILING.show_all({(cause,): failing / sum(tried.values()) if failing >= _FEW else 0.0})


async def lately() -> list[str]:
    """Return the URLs that were tried within the last hour or two, the latest first; at most 100."""
    return [row["url"] for row in await _LATELY.rows()]
