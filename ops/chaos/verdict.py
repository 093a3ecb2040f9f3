"""Makes a scorecard of the changes sent, faults injected, events recorded and POSTs received. Pure.

A delivery is lost when a change was accepted and an endpoint never acknowledged a POST of it. A POST is a duplicate
when its event had been acknowledged before, or the same attempt had been made before.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from ops.chaos import customers, order, times
from ops.chaos.explain import cause, repeated
from ops.chaos.matched import Made, matched
from ops.chaos.records import NUMBERED, ORDERED, Accepted, Act, Attempted, Ended, Fault, Post, Recorded
from ops.chaos.times import Spread

Key = tuple[str, str, int | None]


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """The input of the verdict about one customer.

    `states` holds the number in each lead, -1 for each ended conversation. `since`: from when on an endpoint is owed
    what is changed, where that is not from the beginning. `schedule`: the seconds before each retry. `reconciled`: how
    many deliveries were queued again since `calm`, when nothing could be lost any more: one that a busy machine has not
    sent within `slack` seconds looks so. `replayed`: from when on an endpoint in order
    got nothing but what was replayed at once. `refused`: answers that
    nobody may get, and what a worker could not record. `aside`: events that were set aside, and came when they were
    released.
    """

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
    attempts: Sequence[Attempted] = ()
    ends: Sequence[Ended] = ()
    acts: Sequence[Act] = ()
    schedule: Sequence[int] = ()
    since: Mapping[str, float] = {}
    calm: float = float("inf")
    slack: float = float("inf")
    reconciled: int = 0
    replayed: float = float("inf")
    aside: Sequence[str] = ()
    refused: Sequence[str] = ()


class Scorecard(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a run. `failures` names the guarantees that were broken: it should be empty. Lists tell cases."""

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
    suspects: Sequence[tuple[Made, Made]]  # each unexplained POST behind the one that it repeats
    proven: Sequence[tuple[Made, Made, Fault]]  # the others, each with the fault that it came from
    wrong_signature: int
    altered: int
    changes_without_event: int
    events_without_change: int
    events_doubled: int
    wrong_state: int
    unfinished: int
    out_of_order: int
    misordered: int
    overtaken: Sequence[tuple[Made, Made]]  # each POST that came too early behind the one that was to come before it
    misnumbered: int
    early: Sequence[tuple[Attempted, Attempted]]
    twice: int
    sent_to_erased: Sequence[Post]
    sent_when_canceled: Sequence[Post]
    canceled_by_nobody: Sequence[Ended]
    unseen: Sequence[Ended]
    stopped: Sequence[str]  # who else stood still while one of this customer's rows or entries was bad
    reconciled: int
    refused: Sequence[str]
    acts: Mapping[str, int]
    late: Mapping[str, Spread]
    recovery: Mapping[str, Spread]
    faults: Mapping[str, int]
    ledger: Mapping[str, int]

    @property
    def failures(self) -> list[str]:
        """The counts that must be 0 and are not."""
        must = (
            *("lost", "unexplained", "wrong_signature", "altered", "changes_without_event", "events_without_change"),
            *("misnumbered", "misordered", "events_doubled", "wrong_state", "unfinished", "early", "twice"),
            *("sent_to_erased", "sent_when_canceled", "canceled_by_nobody", "unseen", "reconciled"),
        )
        found = {name: getattr(self, name) for name in must}
        broken = [f"{name} {one if isinstance(one, int) else len(one)}" for name, one in found.items() if one]
        broken += [f"stopped: {one}" for one in self.stopped] + [f"refused: {one}" for one in self.refused]
        return broken + [f"ledger: {name} {count}" for name, count in self.ledger.items() if count]


def judge(seen: Evidence) -> Scorecard:
    """Return the scorecard."""
    asked = {key(one) for one in seen.accepted}
    recorded = Counter(key(one) for one in seen.events)
    made = matched(seen.posts, seen.attempts, seen.ends)
    causes = list(_causes(seen, made))
    duplicates = Counter(fault.kind if fault else "unexplained" for *_, fault in causes)
    needless = {id(one.post) for _, one, _ in causes}.union(_read_late(made))
    ordered = [one for one in made if one.post.endpoint in ORDERED and one.post.event_id not in seen.aside]
    overtaken = order.overtaken([one for one in ordered if id(one.post) not in needless])
    bodies: defaultdict[str, set[int]] = defaultdict(set)
    for post in seen.posts:
        bodies[post.event_id].add(post.digest)
    return Scorecard(
        accepted=len(seen.accepted),
        asked_again=sum(bool(one.refusals) for one in seen.accepted),
        events=len(seen.events),
        owed=len(_owed(seen)),
        posts=len(seen.posts),
        deliveries=seen.deliveries,
        redriven=seen.redriven,
        lost=_lost(seen),
        duplicates=dict(duplicates.most_common()),
        unexplained=duplicates["unexplained"],
        suspects=[(first, one) for first, one, fault in causes if not fault],
        proven=[(first, one, fault) for first, one, fault in causes if fault],
        wrong_signature=sum(not post.verified for post in seen.posts),
        altered=sum(len(digests) > 1 for digests in bodies.values()),
        changes_without_event=len(asked - recorded.keys()),
        events_without_change=len(recorded.keys() - asked),
        events_doubled=sum(count - 1 for count in recorded.values()),
        wrong_state=_wrong_state(seen),
        unfinished=seen.unfinished,
        out_of_order=order.out_of_order(seen.posts),
        misordered=len(overtaken) + order.out_of_order([one.post for one in ordered if one.post.at > seen.replayed]),
        overtaken=overtaken,
        misnumbered=order.misnumbered([post for post in seen.posts if post.endpoint in NUMBERED], seen.ends),
        early=customers.early(seen.attempts, seen.schedule, seen.acts),
        twice=customers.twice(seen.attempts),
        sent_to_erased=[one.post for one in customers.sent_to_erased(made, seen.acts, seen.faults)],
        sent_when_canceled=[one.post for one in customers.sent_when_canceled(made, seen.ends, seen.faults)],
        canceled_by_nobody=customers.canceled_by_nobody(seen.ends, seen.events, seen.acts),
        unseen=customers.unseen(seen.ends, made),
        stopped=[f"{name} amid {fault.kind}" for fault in seen.faults for name in fault.stopped],
        reconciled=max(0, seen.reconciled - times.late_since(seen.calm, seen.slack, seen.events, seen.posts)),
        refused=seen.refused,
        acts=dict(Counter(act.kind for act in seen.acts)),
        late=times.late(seen.endpoints, seen.events, seen.posts),
        recovery=times.recovery(seen.endpoints, seen.events, seen.posts, seen.faults),
        faults=dict(Counter(fault.kind for fault in seen.faults)),
        ledger=seen.ledger,
    )


def _owed(seen: Evidence) -> set[tuple[str, Key]]:
    """The changes that each endpoint is owed: all of those since it was there."""
    return {
        (endpoint, key(one))
        for endpoint in seen.endpoints
        for one in seen.accepted
        if one.asked >= seen.since.get(endpoint, 0.0)
    }


def _lost(seen: Evidence) -> int:
    """How many that are owed were never acknowledged, nor canceled by somebody."""
    acknowledged = {(post.endpoint, key(post)) for post in seen.posts if post.good and post.verified}
    keys = {event.event_id: key(event) for event in seen.events}
    canceled = {
        (end.endpoint, keys[end.event_id]) for end in seen.ends if end.state == "cancelled" and end.event_id in keys
    }
    return len(_owed(seen) - acknowledged - canceled)


def key(one: Accepted | Recorded | Post) -> Key:
    """Return the key that a change, its event and its POSTs share."""
    return one.kind, one.subject, one.number if one.kind == "lead.updated" else None


def _causes(seen: Evidence, made: Sequence[Made]) -> Iterable[tuple[Made, Made, Fault | None]]:
    """The cause of each duplicate, what it repeats, and itself."""
    earlier: defaultdict[tuple[str, str], list[Made]] = defaultdict(list)
    recorded: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    for one in made:
        if one.attempt:
            recorded[one.post.sender, one.post.endpoint].append(one.post.at)
    for one in made:
        before = earlier[one.post.endpoint, one.post.event_id]
        if first := repeated(one, before):
            later = (at for at in recorded[first.post.sender, first.post.endpoint] if at > first.post.at)
            yield first, one, cause(one, first, seen.faults, seen.timeout, next(later, 0.0))
        before.append(one)


def _read_late(made: Sequence[Made]) -> Iterable[int]:
    """The POSTs that a receiver on a busy machine has read behind a later one of the same delivery: theirs is no place
    in an order.
    """
    earlier: defaultdict[tuple[str, str], list[Made]] = defaultdict(list)
    for one in made:
        before = earlier[one.post.endpoint, one.post.event_id]
        if any(map(one.read_late, before)):
            yield id(one.post)
        before.append(one)


def _wrong_state(seen: Evidence) -> int:
    """Leads that do not hold the last change that was accepted, conversations that are not ended."""
    last: dict[str, int] = {}
    for one in sorted(seen.accepted, key=lambda one: one.accepted):
        last[one.subject] = one.number if one.kind == "lead.updated" else -1
    return sum(seen.states.get(subject) != number for subject, number in last.items())
