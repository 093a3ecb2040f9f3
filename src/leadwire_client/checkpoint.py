"""Whether a receiver has every delivery: its numbers compared with a checkpoint of Leadwire."""

import bisect
import hashlib
from datetime import datetime
from typing import Any, Final, NamedTuple

from msgspec import Struct

from leadwire_client.database import fetch_rows, in_transaction, run_blocking

Ranges = list[tuple[int, int]]
"""First and last number of each."""

_NUMBERS: Final = """SELECT number, id FROM webhook_number
WHERE endpoint = {} AND number > {} AND number <= {} ORDER BY number, id"""


class Checkpoint(Struct, frozen=True, kw_only=True):
    """What Leadwire says of the deliveries with numbers above `after`, up to `last`.

    Those in `open` are on their way. Those in `gone` are not sent any more: canceled, erased, or past retention. Of the
    others there are `count`; `digest` is the SHA-256 of their numbers and ids. `highest` is the highest number given:
    if it is above `last`, ask again after `last`.
    """

    endpoint_id: str
    at: datetime
    after: int
    last: int
    highest: int
    open: Ranges
    gone: Ranges
    count: int
    digest: str


class Compared(NamedTuple):
    """What a checkpoint shows of the numbers that are here."""

    missing: Ranges
    """They were sent, or were to be, and are not here. `Receiver.replay` has them sent again."""
    differs: bool
    """None is missing, but a number is here with another event: see `repeated` of `check_numbers`."""
    complete: int
    """All up to this number are here: ask for the next checkpoint after it."""


def compare(connection: Any, checkpoint: Checkpoint, endpoint: str = "") -> Compared:
    """Compare what `once` got with a `number` with a checkpoint. With an asynchronous connection: `compare_async`.

    Waits for other tasks and threads on the connection, and raises RuntimeError, as `once` does.
    """
    return run_blocking(connection, compare_async(connection, checkpoint, endpoint))


async def compare_async(connection: Any, checkpoint: Checkpoint, endpoint: str = "") -> Compared:
    """`compare` with an asynchronous connection."""
    async with in_transaction(connection):
        found = await fetch_rows(connection, _NUMBERS, endpoint, checkpoint.after, checkpoint.last)
    apart = sorted(checkpoint.open + checkpoint.gone)
    missing = _missing(checkpoint, [(number, number) for number, _ in found] + apart)
    lines = [f"{number} {webhook_id}\n" for number, webhook_id in found if not _within(number, apart)]
    differs = not missing and hashlib.sha256("".join(lines).encode()).hexdigest() != checkpoint.digest
    firsts = [first for first, _ in checkpoint.open + missing]
    complete = checkpoint.after if differs else min(firsts, default=checkpoint.last + 1) - 1
    return Compared(missing, differs, complete)


def _missing(checkpoint: Checkpoint, known: Ranges) -> Ranges:
    """The ranges of a checkpoint that `known` leaves out."""
    found, before = [], checkpoint.after
    for first, last in sorted([*known, (checkpoint.last + 1, checkpoint.last + 1)]):
        if first > before + 1:
            found.append((before + 1, first - 1))
        before = max(before, last)
    return found


def _within(number: int, ranges: Ranges) -> bool:
    """Whether one of the ranges, which are sorted, holds a number."""
    place = bisect.bisect_left(ranges, (number + 1,))
    return place > 0 and ranges[place - 1][1] >= number
