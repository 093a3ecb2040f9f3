"""Until when a conversation is snoozed: a form's choice, in the time zone of the person's browser. Pure."""

from datetime import datetime, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from leadwire.infrastructure import clock
from leadwire.interfaces.web.forms import Form, wrong

_MORNING: Final = time(9)


def until(form: Form) -> datetime:
    """Return the time that was chosen: `hour`, `tomorrow` or the field `at`. Without a known `zone` it is UTC.

    Raise Invalid.
    """
    zone, choice = _zone(form.text("zone")), form.text("for")
    if choice == "hour":
        return clock.now() + timedelta(hours=1)
    if choice == "tomorrow":
        tomorrow = clock.now().astimezone(zone).date() + timedelta(days=1)
        return datetime.combine(tomorrow, _MORNING, zone)
    try:
        moment = datetime.strptime(form.text("at"), "%Y-%m-%dT%H:%M").replace(tzinfo=zone)
        return moment.astimezone(clock.now().tzinfo)
    except (ValueError, OverflowError):
        raise wrong("at", "required", "Choose a date and a time.") from None


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError):  # what no zone is called; also a path, or the name of a folder
        return ZoneInfo("UTC")
