"""Judges order and numbers: what an endpoint is promised that asks for them. Pure.

In an order the changes of one lead are sent one after the other. What fails holds up what comes after it until it is
delivered or dead. What is sent again comes before whatever comes after it and has not been sent by then.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ops.chaos.matched import Made
from ops.chaos.records import Ended, Post


class _Run(NamedTuple):
    """The attempts of one generation of a delivery: its number in the order, and the first and last POST's place."""

    number: int
    generation: int
    first: int
    last: int


def overtaken(made: Sequence[Made]) -> list[tuple[Made, Made]]:
    """Return POSTs that came before the end of what comes first in their order, each behind the one that was to come
    before it. `made` is without repetitions.
    """
    by_subject: defaultdict[tuple[str, str], list[Made]] = defaultdict(list)
    for one in made:
        if one.post.number is not None:
            by_subject[one.post.endpoint, one.post.subject].append(one)
    return [pair for subject in by_subject.values() for pair in _overtaken(subject)]


def _overtaken(made: Sequence[Made]) -> Iterable[tuple[Made, Made]]:
    places: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    for place, one in enumerate(made):
        places[one.post.number or 0, one.generation].append(place)
    runs = [_Run(*key, found[0], found[-1]) for key, found in places.items()]
    for earlier in runs:
        for later in (run for run in runs if earlier.number < run.number):
            amid = [place for place in places[later[:2]] if earlier.first < place < earlier.last]
            if amid:
                yield made[earlier.last], made[amid[0]]
            elif earlier.generation == later.generation == 1 and later.first < earlier.first:
                yield made[earlier.first], made[later.first]


def out_of_order(posts: Iterable[Post]) -> int:
    """Count events that came to an endpoint for the first time after a later one of the same lead."""
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


def misnumbered(posts: Iterable[Post], ends: Iterable[Ended]) -> int:
    """Count, for each endpoint, events without exactly one number, and numbers from 1 on without exactly one event.

    A number may be missing at the receiver where its delivery was canceled: the database has it.
    """
    numbers: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
    events: defaultdict[tuple[str, int], set[str]] = defaultdict(set)
    highest: defaultdict[str, int] = defaultdict(int)
    for name, event_id, number in [
        *((post.endpoint, post.event_id, post.sequence or 0) for post in posts),
        *((end.endpoint, end.event_id, end.sequence) for end in ends if end.sequence is not None),
    ]:
        numbers[name, event_id].add(number)
        events[name, number].add(event_id)
        highest[name] = max(highest[name], number)
    wrong = sum(0 in given or len(given) > 1 for given in numbers.values())
    return wrong + sum(len(events[name, n]) != 1 for name, last in highest.items() for n in range(1, last + 1))
