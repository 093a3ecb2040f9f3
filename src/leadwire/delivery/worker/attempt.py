"""One POST: what a worker has in hand, the request that is made of it, what came of it, and what is kept of that."""

import re
import time
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final, NamedTuple

import msgspec

from leadwire.delivery import retry, signing, states
from leadwire.delivery.retry import NextStep
from leadwire.delivery.states import Outcome
from leadwire.delivery.streams import Entry
from leadwire.delivery.transport.guarded import GuardedTransport
from leadwire.delivery.transport.identity import Identity
from leadwire.infrastructure import clock
from leadwire.infrastructure.settings import Settings
from leadwire.infrastructure.telemetry import tracing
from leadwire.infrastructure.telemetry.tracing import Span

_SNIPPET: Final = 2048  # bytes of the answer that are kept
MASKED: Final = "(masked)"
_SECRET: Final = re.compile(r"cookie|authoriz|token|secret|passw|session|api-?key|csrf|signature", re.IGNORECASE)
# In a header's value: who signs in at an address, and its query and fragment. Both may hold a token.
_USERINFO: Final = re.compile(r"//[^\s/?#<>\"]*@")
_QUERY: Final = re.compile(r"([?#])[^\s<>\"]+")
_LARGEST: Final = 4096  # characters of all headers
_LONGEST: Final = 500  # of one value

_encode = msgspec.json.Encoder().encode


class ClaimedDelivery(NamedTuple):
    """One POST to make: its stream entry, and the delivery, event and endpoint as the database has them."""

    entry: Entry
    secret: str = ""
    staged_secret: str = ""  # '' for none
    signing_key: str = ""  # the same
    headers: tuple[tuple[str, str], ...] = ()
    identity: Identity | None = None
    claimed: float = 0.0  # when, by `time.perf_counter`
    asked: float = 0.0  # when the claim was sent, by the same clock
    # The rest as the claim's statement returns it.
    generation: int = 1  # and one more each time that the delivery was sent again
    test: bool = False
    subject: str | None = None  # set where the endpoint wants order
    url: str = ""
    watched: bool = True  # its endpoint has a backlog, an order, a rate or failures: each outcome matters to it
    body: bytes = b""
    traceparent: str | None = None
    workspace: str = ""
    numbered: bool = False  # has to have a number before it is sent
    sequence: int | None = None  # that number
    relaying: float = 0.0  # seconds from the event's recording until the delivery was queued
    queued: float = 0.0  # seconds in the stream until this claim
    age: float = 0.0  # of the event, in seconds
    ordering_key: str | None = None  # the event's subject, whether or not the endpoint wants order
    claimed_at: float = 0.0  # Unix time by the database's clock: receivers refuse a worker's own that is off

    @property
    def names(self) -> dict[str, Any]:
        """What log lines say of it."""
        event_id, endpoint_id, _ = self.entry.key
        return {"event_id": event_id, "endpoint_id": endpoint_id, "workspace_id": self.workspace}

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
    next: NextStep
    http_status: int | None = None
    error: str | None = None
    response_body: str | None = None
    retry_after: float = 0.0
    response_headers: str | None = None

    @property
    def endpoint_id(self) -> str:
        return self.job.entry.key.endpoint_id

    @property
    def duration_ms(self) -> int:
        return round((self.end - self.start) * 1000)


async def attempt(job: ClaimedDelivery, transport: GuardedTransport, settings: Settings) -> Attempt:
    """Make the POST of `job`. The transport holds the deadline and guards the address; a failure is an outcome."""
    span = _begin_span(job)
    start = time.perf_counter()
    started_at = clock.from_unix(job.claimed_at + start - job.claimed)
    headers = headers_of(job, settings.header_prefix, started_at, span.traceparent if span else job.traceparent)

    outcome: Outcome
    error: str | None = None
    status: int | None = None
    body, retry_after = b"", 0.0
    received: str | None = None
    try:
        answer = await transport.post(job.url, headers, job.body, job.identity)
    except Exception as raised:  # noqa: BLE001 - whatever it is, the ledger has to know
        outcome = getattr(raised, "outcome", "protocol_error")
        error = _text(str(raised) or type(raised).__name__)
    else:
        status, body, received = answer.status, answer.body[:_SNIPPET], kept_headers(answer.received)
        outcome = states.of_status(status)
        retry_after = retry.asked_for(answer.headers.get("retry-after"), started_at)
    end = time.perf_counter()
    following = retry.after(outcome, job.number, settings.retry_schedule, retry_after=retry_after, test=job.test)
    if span:
        about = {"leadwire.outcome": outcome, **({"http.response.status_code": status} if status else {})}
        span.annotate(about, failed=outcome != "delivered")
        span.end()
    said = _text(body.decode("utf-8", "replace")) or None
    return Attempt(job, started_at, start, end, outcome, following, status, error, said, retry_after, received)


def headers_of(job: ClaimedDelivery, prefix: str, at: datetime, traceparent: str | None) -> list[tuple[str, str]]:
    """Every header of the request that is made of `job` at a time, the customer's own ones too."""
    headers = signing.headers(
        event_id=job.entry.key.event_id,
        body=job.body,
        secret=job.secret,
        staged=job.staged_secret,
        at=int(at.timestamp()),
        attempt=job.number,
        prefix=prefix,
        traceparent=traceparent,
        test=job.test,
        sequence=job.sequence,
        signing_key=job.signing_key,
        ordering_key=job.ordering_key,
    )
    headers.extend(job.headers)
    return headers


def _begin_span(job: ClaimedDelivery) -> Span | None:
    """Begin the span of a POST, and record those of the hops before it. Return None where the trace is not sampled."""
    trace = job.traceparent
    if trace is None or not tracing.sampled(trace):
        return None
    event_id, endpoint_id, _ = job.entry.key
    about = {"leadwire.event_id": event_id, "leadwire.endpoint_id": endpoint_id, "leadwire.attempt": job.number}
    claimed = time.time() - (time.perf_counter() - job.claimed)
    recorded = claimed - job.age
    if job.number == 1 and job.generation == 1:
        tracing.start_span("outbox", trace, "INTERNAL", about, recorded).end(recorded + job.relaying)
    tracing.start_span("stream", trace, "INTERNAL", about, claimed - job.queued).end(claimed)
    return tracing.start_span("POST webhook", trace, "CLIENT", about | {"http.request.method": "POST"})


def _text(text: str) -> str:
    """What PostgreSQL can hold: no NUL."""
    return text.replace("\0", "\ufffd")[:_SNIPPET]


def kept_headers(headers: Iterable[tuple[str, str]]) -> str | None:
    """Return a receiver's headers as JSON, a list of pairs, in their order, without secrets; None without any. What is
    too much is left out.
    """
    pairs, size = [], 0
    for name, value in headers:
        text = MASKED if _SECRET.search(name) else _QUERY.sub(rf"\1{MASKED}", _USERINFO.sub("//", value))[:_LONGEST]
        size += len(name) + len(text) + 6
        if size > _LARGEST:
            break
        pairs.append((name[:_LONGEST], text))
    return _encode(pairs).decode() if pairs else None
