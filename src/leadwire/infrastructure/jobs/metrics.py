"""What is counted of jobs where they run, and what waits, looked up by one process. Labels are names of kinds."""

from typing import Final

from leadwire.infrastructure.jobs import reads
from leadwire.infrastructure.telemetry.metrics import LookedUp, counter, histogram

SECONDS: Final = histogram(
    "job_duration_seconds", "Duration of a call of a kind's function, which takes one job or a batch.", "kind",
    bounds=(0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300),
)  # fmt: skip
FAILURES: Final = counter("job_failures", "Jobs that failed; each is tried again, alone, after a pause.", "kind")
WAITING: Final = LookedUp("jobs_waiting", f"Jobs that are due or being done; counted up to {reads.CAPPED}.", "kind")
OLDEST: Final = LookedUp(
    "jobs_oldest_seconds", "Time since the oldest that is due, or has failed, was due for the first time.", "kind"
)
FAILED: Final = LookedUp(
    "jobs_failed", "Jobs that were given up; `leadwire jobs retry` lets them be tried again.", "kind"
)


async def update() -> None:
    """Show what waits. Raise what the database raises."""
    summaries = await reads.summaries()
    WAITING.show_all({(summary.kind,): summary.waiting for summary in summaries})
    OLDEST.show_all({(summary.kind,): summary.oldest_seconds for summary in summaries})
    FAILED.show_all({(summary.kind,): summary.failed for summary in summaries})
