"""The conditions that need somebody, told by the gauges that the observer shows: `ops.prometheus` makes alerts of them,
and the page System shows those that hold. What takes counters of many processes to tell is an alert only.

The observer keeps in Redis which conditions hold, and since when, by the clock of Redis; another that takes over goes
on with that.
"""

import re
from datetime import datetime
from operator import attrgetter
from pathlib import Path
from typing import Final, Literal

import msgspec
from msgspec import Struct
from redis.asyncio import Redis

from leadwire.infrastructure import clock, redis_pool
from leadwire.infrastructure.telemetry.metrics import GAUGES, PREFIX

Severity = Literal["page", "ticket"]
"""`page`: somebody is called at once; `ticket`: on the next working day."""

_KEY: Final = "leadwire:conditions"
_KEPT: Final = 600  # seconds
_FRESH: Final = 30.0  # seconds; an observer looks every 5 s
_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE


class Condition(Struct, frozen=True):
    """The greatest value of a gauge is above `limit`, or below it, for `wait` seconds. It has the name of its alert.

    `says` has a place for the value in its unit (`count`, `duration`, `bytes`, `percent`), and one for the `label` that
    it is told apart by. `of` selects series: a label, and its values between bars. `command` helps to find the cause.
    """

    name: str
    gauge: str
    limit: float
    wait: int
    severity: Severity
    says: str
    relation: Literal[">", "<"] = ">"
    by: str = ""
    of: tuple[str, str] = ("", "")
    command: str = "leadwire doctor"

    def values(self) -> dict[str, float]:
        """What holds now, by the label that it is told apart by. Nothing in a process that has not loaded the gauge."""
        if (gauge := GAUGES.get(PREFIX + self.gauge)) is None:
            return {}
        worst: dict[str, float] = {}
        for labels, value in gauge.values().items():
            named = dict(zip(gauge.labels, labels, strict=True))
            if not self.of[0] or named[self.of[0]] in self.of[1].split("|"):
                label = named.get(self.by, "")
                worst[label] = max(value, worst.get(label, value))
        above = self.relation == ">"
        return {label: value for label, value in worst.items() if (value > self.limit if above else value < self.limit)}


CONDITIONS: Final = msgspec.toml.decode(
    Path(__file__).with_suffix(".toml").read_bytes(), type=dict[str, tuple[Condition, ...]]
)["condition"]


class Firing(Struct, frozen=True):
    """What the page System shows. Its runbook is a page at /docs."""

    name: str
    severity: Severity
    says: str
    command: str
    since: datetime | None = None
    """None: not known."""

    @property
    def runbook(self) -> str:
        return runbook(self.name)


class Held(Struct, frozen=True):
    """A condition that holds, its value, and since when. It is firing once it has held for its `wait`."""

    name: str
    gauge: str
    label: str
    value: float
    since: float


class Noted(Struct):
    """What an observer has found, and when."""

    at: float
    held: list[Held]


async def _noted(redis: Redis) -> Noted | None:
    """What was found last; None also where it is of another version, or not ours: Redis is no place to rely on."""
    try:
        return msgspec.json.decode(await redis.get(_KEY) or b"", type=Noted)
    except msgspec.DecodeError:
        return None


async def note(redis: Redis) -> None:
    """Keep which conditions hold now. Raise what Redis raises."""
    before = await _noted(redis)
    since = {(held.name, held.gauge, held.label): held.since for held in before.held} if before else {}
    now = await redis_pool.time(redis)
    held = [
        Held(condition.name, condition.gauge, label, value, since.get((condition.name, condition.gauge, label), now))
        for condition in CONDITIONS
        for label, value in condition.values().items()
    ]
    await redis.set(_KEY, msgspec.json.encode(Noted(now, held)), ex=_KEPT)


async def firing(redis: Redis) -> list[Firing] | None:
    """Return what has held for long enough, pages first; None when no observer looks. Raise what Redis raises."""
    noted = await _noted(redis)
    if noted is None or (now := await redis_pool.time(redis)) - noted.at > _FRESH:
        return None
    # A relay of another version may have others.
    conditions = {(condition.name, condition.gauge): condition for condition in CONDITIONS}
    firing = [
        Firing(
            condition.name, condition.severity, _words(condition, held), condition.command, clock.from_unix(held.since)
        )
        for held in noted.held
        if (condition := conditions.get((held.name, held.gauge))) and now - held.since >= condition.wait
    ]
    return sorted(firing, key=attrgetter("severity"))  # `page` is first


def runbook(name: str) -> str:
    """The page that says what to do about an alert: that of `RedisDown` is `redis-down`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "-", name).lower()


def _words(condition: Condition, held: Held) -> str:
    value = held.value
    return condition.says.format(
        count=f"{value:,.0f}",
        duration=duration(value),
        bytes=f"{value / 2**30:.1f} GiB",
        percent=f"{value:.0%}",
        label=held.label,
    )


def duration(seconds: float) -> str:
    """`5 s`, `12 min`, `3.5 h`."""
    if seconds < _MINUTE:
        return f"{seconds:.0f} s"
    return f"{seconds / _MINUTE:.0f} min" if seconds < 2 * _HOUR else f"{seconds / _HOUR:.1f} h"
