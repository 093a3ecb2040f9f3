"""Identifiers: a type prefix and 26 lower-case Crockford base32 digits of a UUIDv7 (TypeID 0.3, RFC 9562).

They sort by the time they were made, in text order too, which is what lets the event tables be partitioned by id.
They grant nothing: every query has the workspace beside the id.
"""

import os
import re
import time
from datetime import UTC, datetime, timedelta
from typing import Final

FORM: Final = "[0-7][0-9a-hjkmnp-tv-z]{25}"
"""What follows the prefix and its underscore, as a regular expression."""

_DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"
_PAIRS = [high + low for high in _DIGITS for low in _DIGITS]  # 10 bits at a time: a third of the cost of digit by digit
_SUFFIX = re.compile(FORM)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_last_tick = 0


def new(prefix: str) -> str:
    """Return a new id, greater than every id that this process made before."""
    global _last_tick  # noqa: PLW0603 - the counter of RFC 9562 section 6.2 is process-wide by nature
    tick = (time.time_ns() << 12) // 1_000_000  # milliseconds with 12 fraction bits
    _last_tick = tick = max(tick, _last_tick + 1)
    random = int.from_bytes(os.urandom(8)) & ((1 << 62) - 1)
    return f"{prefix}_{_text((tick >> 12) << 80 | 0x7 << 76 | (tick & 0xFFF) << 64 | 0b10 << 62 | random)}"


def floor(prefix: str, moment: datetime) -> str:
    """Return the lowest id that can be made at `moment` or later: a bound of a partition, never a real id."""
    return f"{prefix}_{_text(max(0, (moment - _EPOCH) // timedelta(milliseconds=1)) << 80)}"


def moment(text: str) -> datetime:
    """Return when an id was made, to the millisecond. Raise OverflowError for a year after 9999."""
    number = 0
    for digit in text.rpartition("_")[2][:10]:  # 50 bits, of which the first two are none
        number = number << 5 | _DIGITS.index(digit)
    return _EPOCH + timedelta(milliseconds=number)


def day(text: str) -> str:
    """Return the day on which an id was made, as YYYYMMDD."""
    return f"{moment(text):%Y%m%d}"


def is_id(prefix: str, text: str) -> bool:
    """Whether `text` has the form of an id of this type."""
    return text.startswith(f"{prefix}_") and _SUFFIX.fullmatch(text, len(prefix) + 1) is not None


def _text(number: int) -> str:
    pairs = _PAIRS
    return "".join([pairs[number >> shift & 0x3FF] for shift in range(120, -1, -10)])
