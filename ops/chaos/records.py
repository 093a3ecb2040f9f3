"""Records of the harness: changes sent, faults injected, what customers did, POSTs received. Times are Unix time."""

from collections.abc import Sequence
from typing import Final

import msgspec

ORDERED: Final = ("ordered", "relayed")
"""The endpoints that are to get the changes of each lead one after the other, retries included."""
NUMBERED: Final = ("flaky", "pull")
"""The endpoints whose deliveries are numbered."""
FETCHED: Final = "pull"
"""The endpoint whose receiver fetches, and the sender of what it is handed."""


class Accepted(msgspec.Struct, frozen=True):
    """A change that the API accepted. Its payload contains `number`, which identifies its POSTs."""

    number: int
    kind: str
    subject: str
    asked: float
    accepted: float
    refusals: Sequence[str]  # what came instead, in order, of every time it had to be asked for again


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
    """An injected fault: from `start` until the target works again (`end`). `stopped`: the endpoints of others that got
    nothing meanwhile, although it was one customer's alone.
    """

    kind: str
    target: str
    start: float
    end: float
    stopped: Sequence[str] = ()


class Act(msgspec.Struct, frozen=True):
    """What a customer or an operator asked for, of an endpoint (`target` is its name) or a person (their id).

    `events`, where it is about some. `answer` is what came of it: '' when it was done, else the code of the refusal.
    """

    kind: str
    target: str
    asked: float
    answered: float
    events: Sequence[str] = ()
    answer: str = ""


class Attempted(msgspec.Struct, frozen=True):
    """A row of `attempt`: one POST as the database has it, at `at` by its clock, which took `took` seconds."""

    endpoint: str
    event_id: str
    generation: int
    number: int
    counted: bool
    at: float
    took: float
    outcome: str


class Ended(msgspec.Struct, frozen=True):
    """A row of `delivery_result`: how a delivery has ended, and when."""

    endpoint: str
    event_id: str
    state: str
    generation: int
    finished: float
    sequence: int | None
