"""Whether a worker's due work moves: what its liveness is made of."""

import time
from typing import Final

_GRACE: Final = 60.0  # seconds beyond what every wait is bounded by


class Liveness:
    """When each part of the worker last did something, by the monotonic clock."""

    def __init__(self, timeout: float) -> None:
        self._limit = timeout + _GRACE
        self.turned = self.moved = self.settled = time.monotonic()
        self._replica_since: float | None = None

    def tried(self, *, recording: bool = False) -> None:
        """A round begins, of asking for work or of recording what came of it."""
        if recording:
            self.settled = time.monotonic()
        else:
            self.turned = time.monotonic()

    def asked(self, *, replica: bool) -> None:
        """The streams have answered, or what was asked is no primary any more."""
        self._replica_since = (self._replica_since or time.monotonic()) if replica else None

    def stuck(self, posts: int, unrecorded: int) -> str | None:
        """Why only a restart would help: due work has not moved for longer than anything may last.

        A server that refuses is no such reason: the loops turn, and go on trying. One that never answers is: perhaps
        only this connection to it is broken. So is a Redis that stays a replica: connecting again did not help.
        """
        oldest = time.monotonic() - self._limit
        if posts and self.moved < oldest:
            return f"none of {posts} POSTs has ended for more than {self._limit:g} s"
        if unrecorded and self.settled < oldest:
            return f"{unrecorded} outcomes have not been recorded for more than {self._limit:g} s"
        if self.turned < oldest:
            return f"nothing has been asked of the streams for more than {self._limit:g} s"
        if self._replica_since is not None and self._replica_since < oldest:
            return f"Redis has been a replica for more than {self._limit:g} s: its address may mean another server now"
        return None
