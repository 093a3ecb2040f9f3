"""Records of the harness: changes sent, faults injected, POSTs received. Times are Unix time."""

from typing import Final

import msgspec

ORDERED: Final = "ordered"
"""The endpoint that is to get the changes of each lead one after the other, retries included."""
NUMBERED: Final = "flaky"
"""The endpoint whose deliveries are numbered."""


class Accepted(msgspec.Struct, frozen=True):
    """A change that the API accepted. Its payload contains `number`, which identifies its POSTs."""

    number: int
    kind: str
    subject: str
    asked: float
    accepted: float
    tries: int


class Recorded(msgspec.Struct, frozen=True):
    """An event in the outbox, read from the database after the run."""

    event_id: str
    kind: str
    subject: str
    number: int | None
    at: float


class Post(msgspec.Struct, frozen=True):
    """One POST as the receiver saw it, at its arrival. `answer` is 0 when none was given, because the receiver kept
    silent or the sender had gone; `held` is how many seconds it had to wait for the answer. `sender` is the worker.
    """

    at: float
    endpoint: str
    sender: str
    event_id: str
    attempt: int
    kind: str
    subject: str
    number: int | None
    verified: bool
    digest: int
    answer: int
    held: float
    sequence: int | None = None

    @property
    def good(self) -> bool:
        """Whether it was acknowledged."""
        return 200 <= self.answer <= 299


class Fault(msgspec.Struct, frozen=True):
    """An injected fault: from `start` until the target works again (`end`)."""

    kind: str
    target: str
    start: float
    end: float
