"""The log lines of attempts: by them a delivery is found by its event, its endpoint or its trace."""

import logging
from collections.abc import Sequence

from leadwire.delivery.worker.attempt import Attempt
from leadwire.infrastructure import telemetry


def tell(done: Sequence[Attempt]) -> None:
    """One line for each that failed; for the others too where `debug` lines are wanted. No address, no body."""
    everything = telemetry.enabled(logging.DEBUG)
    for one in done:
        delivered = one.outcome == "delivered"
        if delivered and not everything:
            continue
        job = one.job
        telemetry.log(
            "delivery.attempted",
            level=logging.DEBUG if delivered else logging.INFO,
            event_id=job.entry.key.event_id,
            endpoint_id=job.entry.key.endpoint_id,
            workspace_id=job.workspace,
            trace_id=telemetry.trace_id(job.traceparent),
            attempt=job.number,
            outcome=one.outcome,
            http_status=one.http_status,
            ms=one.duration_ms,
        )
