"""What a worker has in hand: a delivery that it has claimed, and what came of the POST."""

from datetime import datetime
from typing import NamedTuple

from leadwire.delivery.states import Outcome
from leadwire.delivery.streams import Entry


class ClaimedDelivery(NamedTuple):
    """One POST to make: its stream entry, and the delivery, event and endpoint as the database has them."""

    entry: Entry
    generation: int  # 1, and one more each time that the delivery was sent again
    test: bool
    subject: str | None  # set where the endpoint wants order
    url: str
    secret: str
    staged_secret: str | None
    headers: tuple[tuple[str, str], ...]
    watched: bool  # its endpoint has a backlog, an order, a rate or failures: each outcome matters to it
    body: bytes
    traceparent: str | None
    workspace: str
    numbered: bool  # has to have a number before it is sent
    sequence: int | None  # that number
    relaying: float  # seconds from the event's recording until the relay took it
    queued: float  # seconds in the stream until this claim
    age: float  # of the event, in seconds
    claimed: float  # when, by `time.perf_counter`
    send_before: float  # after that, by the same clock, the lease might end before the answer comes

    @property
    def number(self) -> int:
        """Which attempt of this generation it is; the first is 1."""
        return self.entry.key.attempts + 1


class Attempt(NamedTuple):
    """What came of a POST."""

    job: ClaimedDelivery
    started_at: datetime
    start: float  # by `time.perf_counter`
    end: float
    outcome: Outcome
    http_status: int | None = None
    error: str | None = None
    response_body: str | None = None
    retry_after: float = 0.0

    @property
    def duration_ms(self) -> int:
        """How long it took, whatever came of it."""
        return round((self.end - self.start) * 1000)
