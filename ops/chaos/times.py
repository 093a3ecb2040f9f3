"""How long things took, for people to read: a slow machine breaks no promise. Pure."""

import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from ops.chaos.records import Fault, Post, Recorded


class Spread(msgspec.Struct, frozen=True):
    """Seconds."""

    p50: float
    p99: float
    max: float
    count: int


def late(endpoints: Sequence[str], events: Sequence[Recorded], posts: Sequence[Post]) -> dict[str, Spread]:
    """Per endpoint, from the commit to the first acknowledged POST."""
    first = _first_good(posts)
    return {
        endpoint: spread(
            [first[endpoint, one.event_id] - one.at for one in events if (endpoint, one.event_id) in first]
        )
        for endpoint in endpoints
    }


def late_since(since: float, seconds: float, events: Sequence[Recorded], posts: Iterable[Post]) -> int:
    """How many deliveries of events since a time were first sent later than so many seconds after the commit."""
    committed = {one.event_id: one.at for one in events if one.at >= since}
    first: dict[tuple[str, str], float] = {}
    for post in posts:
        if post.event_id in committed:
            first.setdefault((post.endpoint, post.event_id), post.at)
    return sum(at > committed[event_id] + seconds for (_, event_id), at in first.items())


def recovery(
    endpoints: Sequence[str], events: Sequence[Recorded], posts: Sequence[Post], faults: Sequence[Fault]
) -> dict[str, Spread]:
    """Per kind of fault, from its start until a change committed after that start has reached an endpoint."""
    first = _first_good(posts)
    arrivals = sorted(
        (one.at, min(first[endpoint, one.event_id] for endpoint in endpoints if (endpoint, one.event_id) in first))
        for one in events
        if any((endpoint, one.event_id) in first for endpoint in endpoints)
    )
    found: defaultdict[str, list[float]] = defaultdict(list)
    for fault in faults:
        if after := [arrived for at, arrived in arrivals if at >= fault.start]:
            found[fault.kind].append(min(after) - fault.start)
    return {kind: spread(seconds) for kind, seconds in sorted(found.items())}


def _first_good(posts: Iterable[Post]) -> dict[tuple[str, str], float]:
    first: dict[tuple[str, str], float] = {}
    for post in posts:
        if post.good:
            first.setdefault((post.endpoint, post.event_id), post.at)
    return first


def spread(seconds: Sequence[float]) -> Spread:
    """Median, 99th percentile and largest; zeros when there is nothing."""
    if not seconds:
        return Spread(0.0, 0.0, 0.0, 0)
    cuts = statistics.quantiles(seconds, n=100, method="inclusive") if len(seconds) > 1 else [seconds[0]] * 99
    return Spread(round(cuts[49], 3), round(cuts[98], 3), round(max(seconds), 3), len(seconds))
