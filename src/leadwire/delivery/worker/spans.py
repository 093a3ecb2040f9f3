"""A delivery in its request's trace: how long it was in the outbox, how long in the stream, and the POST."""

import time

from leadwire.delivery.states import Outcome
from leadwire.delivery.worker.claim import ClaimedDelivery
from leadwire.infrastructure.telemetry import tracing
from leadwire.infrastructure.telemetry.tracing import Span


def begin(job: ClaimedDelivery) -> Span | None:
    """The POST begins; what went before it is told now. None where the trace is not sampled."""
    trace = job.traceparent
    if trace is None or not tracing.sampled(trace):
        return None
    event_id, endpoint_id, _ = job.entry.key
    about = {"leadwire.event_id": event_id, "leadwire.endpoint_id": endpoint_id, "leadwire.attempt": job.number}
    claimed = time.time() - (time.perf_counter() - job.claimed)
    recorded = claimed - job.age
    if job.number == 1 and job.drive == 1:
        tracing.part("outbox", trace, "INTERNAL", about, recorded).end(recorded + job.relaying)
    tracing.part("stream", trace, "INTERNAL", about, claimed - job.queued).end(claimed)
    return tracing.part("POST webhook", trace, "CLIENT", about | {"http.request.method": "POST"})


def end(span: Span, outcome: Outcome, status: int | None) -> None:
    """What came of it."""
    about = {"leadwire.outcome": outcome, **({"http.response.status_code": status} if status else {})}
    span.tell(about, failed=outcome != "delivered")
    span.end()
