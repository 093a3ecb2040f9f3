"""The clock, and the text form of times. Nothing else calls `datetime.now`.

Times are UTC, in whole milliseconds: what is stored is what is sent, so `since=<a value from a response>` never returns
that row again. When a delivery is due is decided by the database's clock, not by this one.
"""

import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

_set_to: ContextVar[datetime | None] = ContextVar("clock_set_to", default=None)

# The date and time of ISO 8601, each part in all its digits: the extended format (`-` and `:`, conditional on the first
# `-`) or the basic one; the offset in either. A bare number is a date when it has eight digits: epoch seconds have nine
# since 1973. Digits are ASCII only. `fromisoformat` reads 24:00 only from Python 3.14 on, so that is done here.
_ACCEPTED = re.compile(
    r"([0-9]{4})(-)?([0-9]{2})(?(2)-)([0-9]{2})"
    r"(?:[Tt ]([01][0-9]|2[0-4])(?(2):)([0-9]{2})(?:(?(2):)([0-9]{2})(?:[.,]([0-9]{1,9}))?)?"
    r"(?:[Zz]|([+ -])([01][0-9]|2[0-3])(?::?([0-5][0-9]))?)?)?"
)


def now() -> datetime:
    """This moment, UTC, cut to milliseconds; or the one set by `at`."""
    if (fixed := _set_to.get()) is not None:
        return fixed
    return datetime.fromtimestamp(time.time_ns() // 1_000_000 / 1000, UTC)


def after(text: str, at: datetime) -> datetime:
    """`at`, or the millisecond after another moment: the later of two changes of a row has the later time, although the
    clocks of servers differ.
    """
    return max(at, parse(text) + timedelta(milliseconds=1))


def from_unix(seconds: float) -> datetime:
    """Return the moment of a Unix time, cut to milliseconds."""
    return datetime.fromtimestamp(int(seconds * 1000) / 1000, UTC)


@contextmanager
def at(moment: datetime) -> Iterator[Callable[[datetime], object]]:
    """Set the clock to `moment` inside the block, for the demo's history and tests. Yields what sets it again."""
    token = _set_to.set(moment)
    try:
        yield _set_to.set
    finally:
        _set_to.reset(token)


def iso(moment: datetime) -> str:
    """`2026-01-02T03:04:05.678Z`: always UTC, always three digits. `moment` must be in UTC already."""
    text: str = msgspec.to_builtins(moment)  # a tenth of the time of isoformat: a page of a list has dozens
    return f"{text[:23]}Z" if "." in text else f"{text[:19]}.000Z"


def texts(row: Iterable[Any]) -> list[Any]:
    """The values of a row, the times among them as text."""
    return [iso(value) if isinstance(value, datetime) else value for value in row]


def parse(text: str) -> datetime:
    """Read ISO 8601: a date, or a date and a time; without an offset it is UTC. `24:00` is the next day's midnight.

    An unescaped `+` that came as a space is repaired; epoch numbers are not read. Raises ValueError when `text` is no
    such moment or its year in UTC is outside 1970-9998.
    """
    match = _ACCEPTED.fullmatch(text)
    if not match:
        raise ValueError("Must be an ISO 8601 time, such as 2026-01-02T03:04:05Z.")
    year, _, month, day, hour, minute, second, fraction, sign, *offset = match.groups(default="00")
    midnight = hour == "24"
    if midnight and int(minute + second + fraction):
        raise ValueError("The day ends at 24:00:00.")
    hours = "00" if midnight else hour
    zone = f"{'-' if sign == '-' else '+'}{':'.join(offset)}"
    moment = datetime.fromisoformat(f"{year}-{month}-{day}T{hours}:{minute}:{second}.{fraction}{zone}")
    try:
        moment = (moment + timedelta(days=midnight)).astimezone(UTC)
    except OverflowError as error:
        raise ValueError("The time is out of range.") from error
    if not 1970 <= moment.year <= 9998:  # in UTC: what is read can be written and read again
        raise ValueError("The year must be 1970 to 9998.")
    return moment


def ago(**span: float) -> datetime:
    """Return the time `span` (as for timedelta) before now."""
    return now() - timedelta(**span)
