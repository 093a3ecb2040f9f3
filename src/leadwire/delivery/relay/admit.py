"""Deliveries that are due and may be sent now go from `waiting` to `queued`.

This is where an endpoint's window, rate and order are kept. None of them costs a retry: what has to wait stays
`waiting`. Only endpoints whose own time has come are looked at, so neither other endpoints nor the length of a backlog
cost anything.
"""

from typing import Final

from leadwire.delivery.endpoints.table import LARGEST_WINDOW
from leadwire.delivery.streams import Key
from leadwire.infrastructure import db
from leadwire.infrastructure.db.statements import load

BATCH: Final = 1000  # deliveries
_ENDPOINTS: Final = 100  # a round
_FAIR: Final = 10  # endpoints of a round that may share all of a batch

_SQL: Final = load(__file__)
_DUE, _ADMIT, _CLOSE = _SQL["due"], _SQL["admit"], _SQL["close"]


async def admit(batch: int = BATCH) -> list[Key]:
    """Queue what is due. Return the keys to put into the streams."""
    async with db.transaction():
        due = [row["id"] for row in await _DUE.rows(most=_ENDPOINTS)]
        if not due:
            return []
        share = max(1, batch // max(_FAIR, len(due)))
        return [Key(*row) for row in await _ADMIT.rows(ids=due, share=share)]


async def close_overfull(most: int = 2 * LARGEST_WINDOW) -> None:
    """Let deliveries wait from now on where more than `most` of an endpoint are queued."""
    await _CLOSE.rows(most=most)
