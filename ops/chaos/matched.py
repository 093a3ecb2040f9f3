"""Which attempt of the database each POST is. Pure.

A delivery that is sent again is a new generation, whose attempts count from 1 again; a receiver is not told which. An
attempt is recorded by whoever made it, also when it came too late to count. Its time is the database's when it was
claimed, and so before the POST's arrival. A POST without one was never recorded.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from ops.chaos.records import Attempted, Ended, Post

_ROUNDED: Final = 0.01  # seconds by which the arrival may seem to be before the attempt


class Made(NamedTuple):
    """A POST, the attempt that it is, and of which generation."""

    post: Post
    attempt: Attempted | None
    generation: int

    @property
    def unheard(self) -> bool:
        """Whether the answer came so late that its worker no longer waited: the receiver shares a busy machine."""
        if self.attempt is None or self.attempt.outcome != "timeout":
            return False
        return self.post.at + self.post.held >= self.attempt.at + self.attempt.took / 2

    def read_late(self, after: "Made") -> bool:
        """Whether its worker had given up on it before it made another one, which was read before."""
        if self.attempt is None or after.attempt is None:
            return False
        return self.attempt.outcome == "timeout" and self.attempt.at < after.attempt.at

    def settled(self, number: int) -> bool:
        """Whether its outcome was recorded, and leaves no room for an attempt with this number."""
        if self.attempt is None or not self.attempt.counted:
            return False
        return self.attempt.outcome == "delivered" or self.attempt.number == number


def matched(posts: Iterable[Post], attempts: Iterable[Attempted], ends: Iterable[Ended]) -> list[Made]:
    """Return every POST with its attempt, in order of arrival."""
    last = {(end.endpoint, end.event_id): end.generation for end in ends}
    made: defaultdict[tuple[str, str], list[Post]] = defaultdict(list)
    rows: defaultdict[tuple[str, str], list[Attempted]] = defaultdict(list)
    for post in sorted(posts, key=lambda post: post.at):
        made[post.endpoint, post.event_id].append(post)
    for attempt in sorted(attempts, key=lambda attempt: attempt.at):
        rows[attempt.endpoint, attempt.event_id].append(attempt)
    found = [one for key, posts in made.items() for one in _of_delivery(posts, rows[key], last.get(key, 1))]
    return sorted(found, key=lambda one: one.post.at)


def _of_delivery(posts: Sequence[Post], rows: Sequence[Attempted], last: int) -> list[Made]:
    """`last` is the generation in which the delivery ended."""
    of_post = {
        place: row
        for number in {row.number for row in rows}
        for place, row in _assigned(posts, number, [row for row in rows if row.number == number])
    }
    newest = max((row.generation for row in rows), default=1)
    found, current = [], 1
    for place, post in enumerate(posts):
        if row := of_post.get(place):
            current = row.generation
            generation = current
        else:  # never recorded: another one repeated it, or it was the last one before the delivery was canceled
            again = (row.generation for later, row in sorted(of_post.items())
                     if later > place and row.number == post.attempt and not any(
                         place < at < later and one.generation == row.generation for at, one in of_post.items()
                     ))  # fmt: skip
            generation = next(again, last if last > newest else current)
        found.append(Made(post, row, generation))
    return found


def _assigned(posts: Sequence[Post], number: int, rows: Sequence[Attempted]) -> list[tuple[int, Attempted]]:
    """Each attempt's POST is the first that came after it was claimed, and before the next one was."""
    left = [place for place, post in enumerate(posts) if post.attempt == number]
    found = []
    for row, following in zip(rows, [*rows[1:], None], strict=True):
        end = following.at - _ROUNDED if following else float("inf")
        fits = [place for place in left if row.at - _ROUNDED <= posts[place].at < end]
        if fits:
            found.append((fits[0], row))
            left.remove(fits[0])
    return found
