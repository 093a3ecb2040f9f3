"""Until when a conversation is snoozed, in the zone of the person."""

from zoneinfo import ZoneInfo

import pytest

from leadwire.domain.conversations.changes import end_and_snooze
from leadwire.infrastructure import clock
from leadwire.infrastructure.errors import Invalid

NOW = clock.parse("2026-03-28T23:30:00.000Z")


def until(choice, **fields):
    with clock.at(NOW):
        return end_and_snooze.snoozed_until(choice, **fields).astimezone(ZoneInfo("UTC")).isoformat()


@pytest.mark.parametrize(
    ("zone", "there"),
    [
        ("UTC", "2026-03-29T09:00:00+00:00"),
        ("Europe/Berlin", "2026-03-30T07:00:00+00:00"),  # it is the 29th there, the day when clocks go forward
        ("America/Los_Angeles", "2026-03-29T16:00:00+00:00"),
        ("", "2026-03-29T09:00:00+00:00"),
        ("Nowhere/Land", "2026-03-29T09:00:00+00:00"),
        ("../../etc/passwd", "2026-03-29T09:00:00+00:00"),
        ("Europe", "2026-03-29T09:00:00+00:00"),
    ],
)
def test_tomorrow_at_nine(zone, there):
    assert until("tomorrow", zone=zone) == there


def test_an_hour_and_a_time():
    assert until("hour") == "2026-03-29T00:30:00+00:00"
    assert until("at", at="2026-03-30T08:15", zone="Asia/Tokyo") == "2026-03-29T23:15:00+00:00"


@pytest.mark.parametrize("at", ["", "tomorrow", "2026-13-01T00:00", "0001-01-01T00:00", "2026-03-30", "9" * 5000])
def test_what_is_no_time(at):
    with pytest.raises(Invalid):
        until("at", at=at, zone="Asia/Tokyo")
