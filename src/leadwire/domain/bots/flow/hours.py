"""Times: opening hours, and the dates that visitors type and questions accept. Pure, but for the time.

Hours are what the clock on the wall shows: where it is put forward or back, an hour is missing or comes twice.
"""

import functools
import re
import zoneinfo
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Final, get_args
from zoneinfo import ZoneInfo

from msgspec import toml

from leadwire.domain.bots.flow.nodes import Ask, Flow, Hours, Weekday
from leadwire.infrastructure import clock

_TIME: Final = re.compile(r"(?:[01][0-9]|2[0-3]):[0-5][0-9]|24:00")
_AHEAD: Final = 400  # days in which it must open again
_WEEK: Final = 7
_NAMES: Final = toml.decode(Path(__file__).with_name("weekdays.toml").read_bytes(), type=dict[str, list[str]])

_RELATIVE: Final = re.compile(r"today(?:([+-][0-9]{1,4}))?")
_TYPED: Final = re.compile(r"([0-9]{1,4})( ?[./-] ?| )([0-9]{1,2})\2([0-9]{1,4})")
_YEARS: Final = range(1900, 2200)
_MONTHS: Final = 12


def today(flow: Flow, now: datetime) -> date:
    """The date in the time zone."""
    return now.astimezone(ZoneInfo(flow.timezone)).date()


def is_open(flow: Flow, now: datetime) -> bool:
    """Whether it is open; always, without any hours."""
    if not flow.hours:
        return True
    local = now.astimezone(ZoneInfo(flow.timezone))
    minute = local.hour * 60 + local.minute
    return any(start <= minute < end for start, end in _spans(flow, local.date()))


def next_open(flow: Flow, now: datetime) -> datetime | None:
    """When it next begins to be open, in the time zone. None when that is more than a year away."""
    zone, first = ZoneInfo(flow.timezone), today(flow, now)
    for day in (first + timedelta(days=ahead) for ahead in range(_AHEAD)):
        starts = [
            datetime.combine(day, time(*divmod(start, 60), fold=fold), zone)
            for start, _ in _spans(flow, day)
            for fold in (0, 1)
        ]
        if later := [start for start in starts if start.astimezone(UTC) > now]:
            return min(later, key=datetime.timestamp)
    return None


def variables(flow: Flow, now: datetime) -> dict[str, str | int | float | bool]:
    """`is_open` and, while it is closed, `next_open`, such as `Monday, 09:00 CET`; with the date where that is more
    than six days away.
    """
    if is_open(flow, now):
        return {"is_open": True}
    if (opens := next_open(flow, now)) is None:
        return {"is_open": False}
    names = _NAMES.get(flow.locale.partition("-")[0], _NAMES["en"])
    far = f", {opens.date()}" if (opens.date() - today(flow, now)).days >= _WEEK else ""
    zone = f"{opens:%Z}"
    text = f"{names[opens.weekday()]}{far}, {opens:%H:%M} {zone if zone.isalpha() else 'UTC' + zone}"
    return {"is_open": False, "next_open": text}


def _spans(flow: Flow, day: date) -> Iterator[tuple[int, int]]:
    """From when to when it is open on a day, in minutes."""
    if day.isoformat() not in flow.closed_on:
        name = get_args(Weekday)[day.weekday()]
        yield from ((_minutes(hours.opens), _minutes(hours.closes)) for hours in flow.hours if name in hours.days)


def faults(flow: Flow) -> Iterator[tuple[str, str]]:
    """What is wrong with the opening hours of a flow: its field, and the reason."""
    if flow.timezone not in zones():
        yield "timezone", f"'{flow.timezone}' is no time zone. Write one such as Europe/Berlin."
    for index, period in enumerate(flow.hours):
        if wrong := [text for text in (period.opens, period.closes) if not _TIME.fullmatch(text)]:
            yield f"hours/{index}", f"'{wrong[0]}' is no time. Write one such as 09:00."
        elif _minutes(period.opens) >= _minutes(period.closes):
            times = f"It closes at {period.closes} and opens at {period.opens}."
            yield f"hours/{index}", f"{times} Split hours at midnight."
        elif _overlaps(period, flow.hours[:index]):
            yield f"hours/{index}", "These hours overlap with others of the same day."
    for text in flow.closed_on:
        if not is_date(text):
            yield "closed_on", f"'{text}' is no date. Write one such as 2026-12-25."


def is_date(text: str) -> bool:
    """Whether a text is a date such as `2026-12-25`."""
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def bound(text: str, today: date) -> date:
    """The date that `2027-01-31`, `today` or `today+14` stands for. Raise ValueError when it is none of these."""
    if match := _RELATIVE.fullmatch(text):
        return today + timedelta(days=int(match[1] or 0))
    if not is_date(text):
        raise ValueError(f"'{text}' is no date. Write one such as 2027-01-31, today or today+14.")
    return date.fromisoformat(text)


def date_faults(first: str | None, last: str | None) -> list[str]:
    """What is wrong with the first and the last date of a question."""
    flaws = []
    for text in (first, last):
        try:
            bound(text or "today", date(2000, 1, 1))
        except ValueError as error:
            flaws.append(str(error))
    same_kind = first and last and first.startswith("today") == last.startswith("today")
    if not flaws and same_kind and bound(first or "", date(2000, 1, 1)) > bound(last or "", date(2000, 1, 1)):
        flaws.append("No date fits: the first is after the last.")
    return flaws


def limits(flow: Flow, ask: Ask) -> tuple[date, date]:
    """The first and the last date that a question accepts today."""
    day = today(flow, clock.now())
    return bound(ask.earliest or f"{_YEARS[0]}-01-01", day), bound(ask.latest or f"{_YEARS[-1]}-12-31", day)


def read_date(flow: Flow, ask: Ask, text: str) -> str:
    """The date in a text, as `2027-01-31`: year first, or in the order of the flow's locale. Raise ValueError.

    In `en` without a country only a date whose order is clear is accepted: 3/4 is March 4 to some, April 3 to others.
    """
    if (match := _TYPED.fullmatch(text.strip())) is None:
        raise ValueError("no date")
    first, sign, second, third = int(match[1]), match[2].strip(), int(match[3]), int(match[4])
    locale = "" if sign == "." else flow.locale.casefold()  # tags of languages ignore case
    if first in _YEARS:
        day = date(first, second, third)
    elif locale == "en-us" or (locale == "en" and second > _MONTHS):
        day = date(third, first, second)
    elif locale == "en" and first <= _MONTHS and first != second:
        raise ValueError("the month or the day may be first")
    else:
        day = date(third, second, first)
    earliest, latest = limits(flow, ask)
    if not earliest <= day <= latest:
        raise ValueError("out of range")
    return day.isoformat()


def _overlaps(hours: Hours, others: Iterable[Hours]) -> bool:
    opens, closes = _minutes(hours.opens), _minutes(hours.closes)
    return any(
        _minutes(other.opens) < closes and opens < _minutes(other.closes)
        for other in others
        if {*other.days} & {*hours.days} and _TIME.fullmatch(other.opens) and _TIME.fullmatch(other.closes)
    )


def _minutes(text: str) -> int:
    hour, _, minute = text.partition(":")
    return int(hour) * 60 + int(minute)


@functools.cache
def zones() -> set[str]:
    """Every name of a time zone."""
    return zoneinfo.available_timezones()
