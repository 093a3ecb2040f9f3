"""What a receiver compares with what it has: the numbers of an endpoint's deliveries, each with its event.

The receiver computes the digest itself. So a checkpoint says only what both sides can know, and the end of the stream
is told like any other place in it.
"""

import hashlib
from collections.abc import Iterable
from itertools import chain
from typing import Final

from msgspec import Struct

from leadwire.infrastructure import clock
from leadwire.infrastructure.db.statements import load

MOST: Final = 1000
"""Numbers of one checkpoint, from the first that has a delivery on."""

_NUMBERED: Final = load(__file__)["numbered"]

Ranges = list[tuple[int, int]]
"""First and last number of each."""


class Checkpoint(Struct, frozen=True):
    """The deliveries of an endpoint with numbers above `after`, up to `last`."""

    endpoint_id: str
    at: str
    """By the database's clock, as the times of deliveries are."""
    after: int
    last: int
    highest: int
    """The highest number given so far: more follows after `last` if it is below."""
    open: Ranges
    """On their way, or still to be sent again."""
    gone: Ranges
    """Canceled, erased or past retention: they are not sent any more."""
    count: int
    """All others."""
    digest: str
    """Of these, in the order of their numbers: SHA-256, in hex, of a line `number webhook-id` for each."""


async def read(workspace: str, endpoint_id: str, after: int) -> Checkpoint:
    """Return the checkpoint of up to `MOST` deliveries above a number."""
    rows = await _NUMBERED.rows(workspace=workspace, endpoint_id=endpoint_id, after=after, most=MOST)
    at, first, highest = rows[0]["at"], rows[0]["first"], rows[0]["highest"] or 0
    last = max(after, highest if first is None else min(highest, first + MOST - 1))
    numbered = [row for row in rows if row["sequence"] is not None]
    kept = [row for row in numbered if row["kept"]]
    lines = [f"{row['sequence']} {row['event_id']}\n" for row in kept if row["finished"]]
    return Checkpoint(
        endpoint_id=endpoint_id,
        at=clock.iso(clock.from_unix(at)),
        after=after,
        last=last,
        highest=highest,
        open=_ranges(row["sequence"] for row in kept if not row["finished"]),
        gone=_between(after, (row["sequence"] for row in kept), last),
        count=len(lines),
        digest=hashlib.sha256("".join(lines).encode()).hexdigest(),
    )


def _ranges(numbers: Iterable[int]) -> Ranges:
    ranges: Ranges = []
    for number in numbers:
        follows = ranges and ranges[-1][1] == number - 1
        ranges[-1:] = [(ranges[-1][0], number)] if follows else [*ranges[-1:], (number, number)]
    return ranges


def _between(after: int, numbers: Iterable[int], last: int) -> Ranges:
    """The ranges above `after`, up to `last`, that ascending numbers leave out."""
    gaps, before = [], after
    for number in chain(numbers, [last + 1]):
        if number > before + 1:
            gaps.append((before + 1, number - 1))
        before = number
    return gaps
