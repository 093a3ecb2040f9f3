"""Makes a scorecard of the changes sent, faults injected, events recorded and POSTs received. Pure.

A delivery is lost when a change was accepted and an endpoint never acknowledged a POST of it. A POST is a duplicate
when its event had been acknowledged before, or the same attempt had been made before.
"""

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from ops.chaos.explain import cause, repeated
from ops.chaos.records import NUMBERED, ORDERED, Accepted, Fault, Post, Recorded

Key = tuple[str, str, int | None]


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """The input of the verdict. `states` holds the number in each lead, -1 for each ended conversation."""

    accepted: Sequence[Accepted]
    events: Sequence[Recorded]
    posts: Sequence[Post]
    faults: Sequence[Fault]
    endpoints: Sequence[str]
    states: Mapping[str, int | None]
    deliveries: Mapping[str, int]
    unfinished: int
    redriven: int
    ledger: Mapping[str, int]
    timeout: float


class Spread(msgspec.Struct, frozen=True):
    """Seconds."""

    p50: float
    p99: float
    max: float
    count: int


class Scorecard(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a run. `failures` names the guarantees that were broken: it should be empty."""

    accepted: int
    asked_again: int
    events: int
    owed: int
    posts: int
    deliveries: Mapping[str, int]
    redriven: int
    lost: int
    duplicates: Mapping[str, int]
    unexplained: int
    suspects: Sequence[tuple[Post, Post]]  # each unexplained POST behind the one that it repeats
    proven: Sequence[tuple[Post, Post, Fault]]  # the others, each with the fault that it came from
    wrong_signature: int
    altered: int
    changes_without_event: int
    events_without_change: int
    events_doubled: int
    wrong_state: int
    unfinished: int
    out_of_order: int
    misordered: int
    misnumbered: int
    late: Mapping[str, Spread]
    recovery: Mapping[str, Spread]
    faults: Mapping[str, int]
    ledger: Mapping[str, int]

    @property
    def failures(self) -> list[str]:
        """The counts that must be 0 and are not. A redrive is out of order by intention."""
        must = (
            *("lost", "unexplained", "wrong_signature", "altered", "changes_without_event", "events_without_change"),
            "misnumbered",
            *(() if self.redriven else ("misordered",)),
            *("events_doubled", "wrong_state", "unfinished"),
        )
        broken = [f"{name} {getattr(self, name)}" for name in must if getattr(self, name)]
        return broken + [f"ledger: {name} {count}" for name, count in self.ledger.items() if count]


def judge(seen: Evidence) -> Scorecard:
    """Return the scorecard."""
    asked = {key(one) for one in seen.accepted}
    recorded = Counter(key(one) for one in seen.events)
    acknowledged = {(post.endpoint, key(post)) for post in seen.posts if post.good and post.verified}
    found = list(_causes(seen))
    causes = Counter(fault.kind if fault else "unexplained" for *_, fault in found)
    bodies: defaultdict[str, set[int]] = defaultdict(set)
    for post in seen.posts:
        bodies[post.event_id].add(post.digest)
    return Scorecard(
        accepted=len(seen.accepted),
        asked_again=sum(one.tries > 1 for one in seen.accepted),
        events=len(seen.events),
        owed=len(asked) * len(seen.endpoints),
        posts=len(seen.posts),
        deliveries=seen.deliveries,
        redriven=seen.redriven,
        lost=sum((endpoint, key) not in acknowledged for endpoint in seen.endpoints for key in asked),
        duplicates=dict(causes.most_common()),
        unexplained=causes["unexplained"],
        suspects=[(first, post) for first, post, fault in found if not fault],
        proven=[(first, post, fault) for first, post, fault in found if fault],
        wrong_signature=sum(not post.verified for post in seen.posts),
        altered=sum(len(digests) > 1 for digests in bodies.values()),
        changes_without_event=len(asked - recorded.keys()),
        events_without_change=len(recorded.keys() - asked),
        events_doubled=sum(count - 1 for count in recorded.values()),
        wrong_state=_wrong_state(seen),
        unfinished=seen.unfinished,
        out_of_order=_out_of_order(seen.posts),
        misordered=_out_of_order([post for post in seen.posts if post.endpoint == ORDERED and post.good]),
        misnumbered=_misnumbered([post for post in seen.posts if post.endpoint == NUMBERED]),
        late=_late(seen),
        recovery=_recovery(seen),
        faults=dict(Counter(fault.kind for fault in seen.faults)),
        ledger=seen.ledger,
    )


def key(one: Accepted | Recorded | Post) -> Key:
    """Return the key that a change, its event and its POSTs share."""
    return one.kind, one.subject, one.number if one.kind == "lead.updated" else None


def _causes(seen: Evidence) -> Iterable[tuple[Post, Post, Fault | None]]:
    """The cause of each duplicate, what it repeats, and itself."""
    earlier: defaultdict[tuple[str, str], list[Post]] = defaultdict(list)
    for post in seen.posts:
        before = earlier[post.endpoint, post.event_id]
        if first := repeated(post, before):
            yield first, post, cause(post, first, seen.faults, seen.timeout)
        before.append(post)


def _wrong_state(seen: Evidence) -> int:
    """Leads that do not hold the last change that was accepted, conversations that are not ended."""
    last: dict[str, int] = {}
    for one in sorted(seen.accepted, key=lambda one: one.accepted):
        last[one.subject] = one.number if one.kind == "lead.updated" else -1
    return sum(seen.states.get(subject) != number for subject, number in last.items())


def _misnumbered(posts: Sequence[Post]) -> int:
    """Events without exactly one number, and numbers from 1 on without exactly one event."""
    numbers: defaultdict[str, set[int]] = defaultdict(set)
    events: defaultdict[int, set[str]] = defaultdict(set)
    for post in posts:
        numbers[post.event_id].add(post.sequence or 0)
        events[post.sequence or 0].add(post.event_id)
    given = range(1, max(events, default=0) + 1)
    return sum(0 in one or len(one) > 1 for one in numbers.values()) + sum(len(events[number]) != 1 for number in given)


def _out_of_order(posts: Sequence[Post]) -> int:
    """Events that came to an endpoint for the first time after a later one of the same lead."""
    newest: dict[tuple[str, str], int] = {}
    met: set[tuple[str, str]] = set()
    count = 0
    for post in posts:
        if post.number is None or (post.endpoint, post.event_id) in met:
            continue
        met.add((post.endpoint, post.event_id))
        subject = post.endpoint, post.subject
        count += post.number < newest.get(subject, -1)
        newest[subject] = max(newest.get(subject, -1), post.number)
    return count


def _late(seen: Evidence) -> dict[str, Spread]:
    """Per endpoint, from the commit to the first acknowledged POST."""
    first = _first_good(seen.posts)
    return {
        endpoint: spread(
            [first[endpoint, one.event_id] - one.at for one in seen.events if (endpoint, one.event_id) in first]
        )
        for endpoint in seen.endpoints
    }


def _recovery(seen: Evidence) -> dict[str, Spread]:
    """Per kind of fault, from its start until a change committed after that start has reached an endpoint."""
    first = _first_good(seen.posts)
    arrivals = sorted(
        (one.at, min(first[endpoint, one.event_id] for endpoint in seen.endpoints if (endpoint, one.event_id) in first))
        for one in seen.events
        if any((endpoint, one.event_id) in first for endpoint in seen.endpoints)
    )
    found: defaultdict[str, list[float]] = defaultdict(list)
    for fault in seen.faults:
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
