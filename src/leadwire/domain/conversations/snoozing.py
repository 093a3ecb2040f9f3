"""Until when a conversation is snoozed, in the time zone of the person who does it. Pure."""

from datetime import datetime, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from leadwire.infrastructure import clock
from leadwire.infrastructure.errors import FieldError, Invalid

_MORNING: Final = time(9)


def until(choice: str, at: str = "", zone: str = "") -> datetime:
    """Return the time of a `choice`: `hour`, `tomorrow`, or else `at`, such as 2026-03-30T08:15. Without a known `zone`
    it is UTC.

    Raise Invalid.
    """
    if choice == "hour":
        return clock.now() + timedelta(hours=1)
    there = _zone(zone)
    if choice == "tomorrow":
        tomorrow = clock.now().astimezone(there).date() + timedelta(days=1)
        return datetime.combine(tomorrow, _MORNING, there)
    try:
        moment = datetime.strptime(at, "%Y-%m-%dT%H:%M").replace(tzinfo=there)
        return moment.astimezone(clock.now().tzinfo)
    except (ValueError, OverflowError):
        word = "Choose a date and a time."
        raise Invalid(word, errors=(FieldError("required", word, "/at"),)) from None


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError):  # what no zone is called; also a path, or the name of a folder
        return ZoneInfo("UTC")
