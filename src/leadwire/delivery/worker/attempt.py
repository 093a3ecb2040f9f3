"""One POST: sign, send, classify. Never raises: every failure is an outcome."""

import time
from typing import Final

from leadwire.delivery import retries, signing
from leadwire.delivery.states import Outcome, of_status
from leadwire.delivery.transport.guarded import GuardedTransport
from leadwire.delivery.worker import observe
from leadwire.delivery.worker.jobs import Attempt, ClaimedDelivery
from leadwire.infrastructure import clock
from leadwire.infrastructure.settings import Settings

_SNIPPET: Final = 2048  # bytes of the answer that are kept


async def attempt(job: ClaimedDelivery, transport: GuardedTransport, settings: Settings) -> Attempt:
    """Make the POST of `job`. The transport holds the deadline and guards the address."""
    span = observe.begin_span(job)
    done = await _attempt(job, span.traceparent if span else job.traceparent, transport, settings)
    if span:
        observe.end_span(span, done.outcome, done.http_status)
    return done


async def _attempt(
    job: ClaimedDelivery, traceparent: str | None, transport: GuardedTransport, settings: Settings
) -> Attempt:
    started_at, start = clock.now(), time.perf_counter()
    headers = signing.headers(
        event_id=job.entry.key.event_id,
        body=job.body,
        secret=job.secret,
        staged=job.staged_secret,
        at=int(started_at.timestamp()),
        attempt=job.number,
        prefix=settings.header_prefix,
        traceparent=traceparent,
        test=job.test,
        sequence=job.sequence,
    )
    headers.extend(job.headers)

    try:
        answer = await transport.post(job.url, headers, job.body)
    except Exception as error:  # noqa: BLE001 - whatever it is, the ledger has to know
        outcome: Outcome = getattr(error, "outcome", "protocol_error")
        said = _text(str(error) or type(error).__name__)
        return Attempt(job, started_at, start, time.perf_counter(), outcome, error=said)
    outcome = of_status(answer.status)
    return Attempt(
        job,
        started_at,
        start,
        time.perf_counter(),
        outcome,
        answer.status,
        response_body=_text(answer.body[:_SNIPPET].decode("utf-8", "replace")) or None,
        retry_after=0.0
        if outcome == "delivered"
        else retries.retry_after(answer.headers.get("retry-after"), started_at),
    )


def _text(text: str) -> str:
    """What PostgreSQL can hold: no NUL."""
    return text.replace("\0", "\ufffd")[:_SNIPPET]
