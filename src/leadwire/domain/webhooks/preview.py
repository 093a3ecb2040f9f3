"""What a subscription would have been sent: the events of the last hours that match, counted and by example."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

from leadwire.domain.webhooks.filters import Filter, path_of
from leadwire.infrastructure import clock, ids
from leadwire.infrastructure.db.statements import named

MOST: Final = 1000
"""Events of a kind that are looked at."""
FEW: Final = 100
"""Events of a kind that are counted where they are not looked at: enough to tell frequent from rare."""

_COUNTED, _NEWEST = named(__file__, "counted newest")


class Example(Struct, frozen=True):
    """An event that would have been sent."""

    event_id: str
    kind: str
    at: datetime
    subject: str | None
    body: str


class Preview(Struct, frozen=True):
    """How many events of each kind, up to `MOST`, how many of them pass the filter, and the newest of these."""

    counts: dict[str, int]
    passed: dict[str, int]
    examples: list[Example]

    @property
    def total(self) -> int:
        """Events of every kind that pass."""
        return sum(self.passed.values())


async def of(workspace: str, kinds: Sequence[str], hours: int, wanted: Filter | None = None) -> Preview:
    """Return what an endpoint for these kinds would have been sent in the last `hours`. Raise Invalid."""
    which = _which(workspace, kinds, hours, MOST, path_of(wanted or Filter()) or None)
    counted = await _COUNTED.rows(**which)
    counts, passed = ({row[0]: row[column] for row in counted} for column in (1, 2))
    return Preview(counts, passed, [Example(*row) for row in await _NEWEST.rows(**which)])


async def counts(workspace: str, kinds: Sequence[str], hours: int) -> dict[str, int]:
    """Return how many events of each kind there were in the last `hours`, up to `FEW`."""
    return {row[0]: row[1] for row in await _COUNTED.rows(**_which(workspace, kinds, hours, FEW))}


def _which(workspace: str, kinds: Sequence[str], hours: int, most: int, path: str | None = None) -> dict[str, object]:
    moment = clock.now() - timedelta(hours=hours)
    since = ids.floor("evt", moment)
    return {
        "workspace": workspace, "kinds": list(kinds), "moment": moment, "since": since, "most": most, "path": path
    }  # fmt: skip
