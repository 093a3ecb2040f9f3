"""What others do on the database server that makes ours wait or cost more, for gauges."""

from typing import Final

from leadwire.infrastructure import db
from leadwire.infrastructure.db.statements import load
from leadwire.infrastructure.telemetry.metrics import Gauge

RECORDING: Final = Gauge(
    "feed_held_back_seconds",
    "Age of the oldest open transaction that has recorded an event: the feed holds back what was recorded since.",
)
_GAUGES: Final = {"recording": RECORDING}
ALL: Final = tuple(_GAUGES.values())

_STATEMENTS: Final = load(__file__)


async def update() -> None:
    """Look it up and show it. Raise what the database raises."""
    async with db.transaction():
        await db.rows("SET LOCAL statement_timeout = '2s'")
        rows = await _STATEMENTS["held"].rows()
    for name, gauge in _GAUGES.items():
        gauge.show_all({(row["label"],) if row["label"] else (): row["value"] for row in rows if row["gauge"] == name})
