"""Dates: what a visitor typed, and the first and last that a question accepts. Pure, but for the time."""

import re
from datetime import date, timedelta
from typing import Final

from leadwire.domain.bots.flow import hours
from leadwire.domain.bots.flow.nodes import Ask, Flow
from leadwire.infrastructure import clock

_RELATIVE: Final = re.compile(r"today(?:([+-][0-9]{1,4}))?")
_TYPED: Final = re.compile(r"([0-9]{1,4})( ?[./-] ?| )([0-9]{1,2})\2([0-9]{1,4})")
_YEARS: Final = range(1900, 2200)
_MONTHS: Final = 12


def bound(text: str, today: date) -> date:
    """The date that `2027-01-31`, `today` or `today+14` stands for. Raise ValueError when it is none of these."""
    if match := _RELATIVE.fullmatch(text):
        return today + timedelta(days=int(match[1] or 0))
    if not hours.is_date(text):
        raise ValueError(f"'{text}' is no date. Write one such as 2027-01-31, today or today+14.")
    return date.fromisoformat(text)


def faults(first: str | None, last: str | None) -> list[str]:
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
    today = hours.today(flow, clock.now())
    return bound(ask.earliest or f"{_YEARS[0]}-01-01", today), bound(ask.latest or f"{_YEARS[-1]}-12-31", today)


def read(flow: Flow, ask: Ask, text: str) -> str:
    """The date in a text, as `2027-01-31`: year first, or in the order of the flow's locale. Raise ValueError.

    In `en` without a country only a date whose order is clear is accepted: 3/4 is March 4 to some, April 3 to others.
    """
    if (match := _TYPED.fullmatch(text.strip())) is None:
        raise ValueError("no date")
    one, sign, two, three = int(match[1]), match[2].strip(), int(match[3]), int(match[4])
    locale = "" if sign == "." else flow.locale
    if one in _YEARS:
        day = date(one, two, three)
    elif locale == "en-US" or (locale == "en" and two > _MONTHS):
        day = date(three, one, two)
    elif locale == "en" and one <= _MONTHS and one != two:
        raise ValueError("the month or the day may be first")
    else:
        day = date(three, two, one)
    first, last = limits(flow, ask)
    if not first <= day <= last:
        raise ValueError("out of range")
    return day.isoformat()
