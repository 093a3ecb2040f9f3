"""Judges what customers did: when attempts were made, who was erased, what was discarded. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Final

from ops.chaos.matched import Made
from ops.chaos.records import Act, Attempted, Ended, Fault, Recorded

_ROUNDED: Final = 0.005  # seconds: times of attempts are in milliseconds
_UNDER_WAY: Final = 1.0  # seconds from a worker's claim, after which nothing is called back, until the POST arrives
_CANCELING: Final = 4.0  # seconds that a discard, which is dated by its beginning, may wait for locks before it cancels
EMPTYING: Final = ("discard", "remake")
"""What cancels deliveries that wait."""


def early(
    attempts: Iterable[Attempted], schedule: Sequence[int], acts: Iterable[Act]
) -> list[tuple[Attempted, Attempted]]:
    """Return the retries that came before they were due, by the database's clock, unless somebody asked for that; each
    behind the attempt before it.

    An attempt ends `took` seconds after it began, and is recorded then or later: from then on its retry is due after
    the time of the schedule.
    """
    hurries: defaultdict[tuple[str, str], list[Act]] = defaultdict(list)
    for act in acts:
        if act.kind == "retry-now":
            for event in act.events:
                hurries[act.target, event].append(act)
    found = []
    for runs in _generations(attempts).values():
        for first, second in pairwise(runs):
            if second.number == first.number or first.number > len(schedule):
                continue
            due = first.at + first.took + schedule[first.number - 1]
            asked = hurries[first.endpoint, first.event_id]
            hurried = any(first.at < act.answered and act.asked < second.at for act in asked)
            if second.at < due - _ROUNDED and not hurried:
                found.append((first, second))
    return found


def twice(attempts: Iterable[Attempted]) -> int:
    """Count attempts that have the number of another one, and both count."""
    runs = _generations(attempts).values()
    return sum(len(run) - len({one.number for one in run}) for run in runs)


def _generations(attempts: Iterable[Attempted]) -> Mapping[tuple[str, str, int], list[Attempted]]:
    """The attempts that count, by generation, in the order of their numbers."""
    found: defaultdict[tuple[str, str, int], list[Attempted]] = defaultdict(list)
    for one in sorted(attempts, key=lambda one: (one.number, one.at)):
        if one.counted:
            found[one.endpoint, one.event_id, one.generation].append(one)
    return found


def sent_to_erased(made: Iterable[Made], acts: Iterable[Act], faults: Sequence[Fault]) -> list[Made]:
    """Return the POSTs about people whose erasure had been answered before they were claimed."""
    erased = {act.target: act.answered for act in acts if act.kind == "erase" and not act.answer}
    return [
        one
        for one in made
        if (answered := erased.get(one.post.subject)) is not None and _sent_after(answered, one, faults)
    ]


def sent_when_canceled(made: Iterable[Made], ends: Iterable[Ended], faults: Sequence[Fault]) -> list[Made]:
    """Return the POSTs of deliveries that had been canceled before they were claimed."""
    canceled = {(end.endpoint, end.event_id): end.finished for end in ends if end.state == "cancelled"}
    return [
        one
        for one in made
        if (finished := canceled.get((one.post.endpoint, one.post.event_id))) is not None
        and _sent_after(finished + _CANCELING, one, faults)
    ]


def _sent_after(moment: float, made: Made, faults: Sequence[Fault]) -> bool:
    """Whether a POST began after a moment. What was claimed before cannot be called back, also while its worker is
    stopped.
    """
    began = made.attempt.at if made.attempt else made.post.at
    asleep = any(
        fault.kind == "stop-worker" and fault.target == made.post.sender
        and fault.start <= moment + _UNDER_WAY and made.post.at <= fault.end + _UNDER_WAY
        for fault in faults
    )  # fmt: skip
    return began > moment + _UNDER_WAY and not asleep


def canceled_by_nobody(ends: Iterable[Ended], events: Iterable[Recorded], acts: Sequence[Act]) -> list[Ended]:
    """Return the canceled deliveries of events that are there, where nobody emptied or removed their endpoint."""
    kept = {event.event_id for event in events}
    return [
        end
        for end in ends
        if end.state == "cancelled" and end.event_id in kept
        and not any(act.kind in EMPTYING and act.target == end.endpoint and act.asked <= end.finished for act in acts)
    ]  # fmt: skip


def unseen(ends: Iterable[Ended], made: Iterable[Made]) -> list[Ended]:
    """Return the deliveries that count as delivered, and no POST of them was acknowledged."""
    good = {(one.post.endpoint, one.post.event_id) for one in made if one.post.good}
    return [end for end in ends if end.state == "delivered" and (end.endpoint, end.event_id) not in good]
