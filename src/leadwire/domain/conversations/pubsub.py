"""Wake-ups for open streams of a conversation, across processes.

A message in Redis has no content: whoever is woken reads PostgreSQL from where they were. A lost wake-up costs time,
never a message. `Hub` survives a Redis that goes away, and wakes everybody when it is back.
"""

import asyncio
import contextlib
import functools
import time
from collections import defaultdict
from collections.abc import Collection, Iterator
from typing import Final, Literal

from leadwire.infrastructure import announcements, db

_PREFIX: Final = "leadwire:talk:"
_LOOKING: Final = 40.0  # seconds: a stream says every 15 s that somebody is there

Kind = Literal["changed", "typing_visitor", "typing_agent", "looking", "left"]
"""What happened in a conversation: something that is stored, somebody types, or a colleague looks at it or leaves."""
Change = tuple[str, str]
"""The conversation and the kind."""
Place = tuple[str, str]
"""The workspace and the conversation."""
_STORED: Final[tuple[Kind, ...]] = ("changed",)

_schedule: Final = announcements.Announcer(0.002).announce  # in their order: who leaves and comes back is there


def publish(workspace: str, conversation_id: str, kind: Kind = "changed", user_id: str = "") -> None:
    """Wake the watchers of a conversation once the open transaction has committed. `user_id`: who looks or leaves."""
    suffix = "" if kind == "changed" else f":{kind}:{user_id}"
    db.after_commit(functools.partial(_schedule, f"{_PREFIX}{workspace}:{conversation_id}{suffix}"))


@contextlib.contextmanager
def looking(workspace: str, conversation_id: str, user_id: str) -> Iterator[None]:
    """Let colleagues know that somebody looks at a conversation, if at any, for the length of the block."""
    if not conversation_id:
        yield
        return
    publish(workspace, conversation_id, "looking", user_id)
    try:
        yield
    finally:
        publish(workspace, conversation_id, "left", user_id)


class Watch(asyncio.Event):
    """One watcher of some kinds of changes. It is set when something has changed, or may have."""

    def __init__(self, kinds: Collection[Kind]) -> None:
        super().__init__()
        self.kinds = kinds
        self._changes: set[Change] = set()

    def wake(self, conversation_id: str, kind: str) -> None:
        """Note a change, if it is of a kind that is watched."""
        if kind in self.kinds:
            self._changes.add((conversation_id, kind))
            self.set()

    async def changed(self, seconds: float) -> set[Change]:
        """Wait for a change. Return those since the last call, none after `seconds`. After a time without Redis there
        is one of no conversation.
        """
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.wait()
        changes, self._changes = self._changes, set()
        self.clear()
        return changes


class Lookers:
    """Who looks at which conversation, as the streams of every process say again and again. Nothing is stored."""

    def __init__(self) -> None:
        self._seen: dict[tuple[Place, str], float] = {}  # by conversation and user: when they were there last

    def note(self, place: Place, user_id: str, *, here: bool) -> bool:
        """Note that somebody is there, or no longer. Return whether that is news."""
        before = user_id in self.of(place)
        if here:
            self._seen[place, user_id] = time.monotonic()
        else:
            self._seen.pop((place, user_id), None)
        return here != before

    def of(self, place: Place) -> set[str]:
        """The users who look at a conversation."""
        late = time.monotonic() - _LOOKING
        self._seen = {key: at for key, at in self._seen.items() if at > late}
        return {user_id for where, user_id in self._seen if where == place}


class Hub:
    """One Redis subscription for all the watchers of a process."""

    def __init__(self) -> None:
        self._watches: defaultdict[str, set[Watch]] = defaultdict(set)
        self.leaving = False
        self.lookers = Lookers()

    @contextlib.contextmanager
    def watch(self, workspace: str, conversation_id: str = "", kinds: Collection[Kind] = _STORED) -> Iterator[Watch]:
        """Watch one conversation, or all of a workspace, inside the block."""
        channel, watch = f"{_PREFIX}{workspace}:{conversation_id}", Watch(kinds)
        self._watches[channel].add(watch)
        try:
            yield watch
        finally:
            self._watches[channel].discard(watch)
            if not self._watches[channel]:
                del self._watches[channel]

    def watchers(self, workspace: str, conversation_id: str) -> int:
        """Return how many watch a conversation in this process."""
        return len(self._watches.get(f"{_PREFIX}{workspace}:{conversation_id}", ()))

    def leave(self) -> None:
        """Wake every watcher because the process stops: it would wait for their open streams."""
        self.leaving = True
        self.wake_all()

    async def listen(self) -> None:
        """Turn messages from Redis into wake-ups, for ever."""
        await announcements.listen(f"{_PREFIX}*", self._wake, self.wake_all, lambda: True)

    def _wake(self, channel: str) -> None:
        workspace, conversation_id, kind, user_id = [*channel.removeprefix(_PREFIX).split(":"), "changed", ""][:4]
        if kind in ("looking", "left") and not self.lookers.note(
            (workspace, conversation_id), user_id, here=kind == "looking"
        ):
            return
        for watched in (conversation_id, ""):
            for watch in self._watches.get(f"{_PREFIX}{workspace}:{watched}", ()):
                watch.wake(conversation_id, kind)

    def wake_all(self) -> None:
        """Wake every watcher of this process."""
        for watches in self._watches.values():
            for watch in watches:
                watch.wake("", "changed")


hub: Final = Hub()
"""This process's."""
