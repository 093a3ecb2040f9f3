"""`leadwire dead-letters`: deliveries whose attempts have all failed. `leadwire redrives` sends them again."""

import click

from leadwire.domain.webhooks.schema import DeliveryDetail
from leadwire.interfaces.cli.lazy import lazily
from leadwire.interfaces.cli.runtime import Result, command

with lazily():
    from leadwire.domain.webhooks import reads


dead_letters = click.Group("dead-letters", help="Deliveries whose attempts have all failed.")


@command(dead_letters, "list")
@click.option("--endpoint", metavar="ID")
@click.option("--event", metavar="ID")
@click.option("--limit", default=100, show_default=True, type=click.IntRange(1, 10_000))
async def list_(endpoint: str | None, event: str | None, limit: int) -> Result:
    """List dead letters, newest first."""
    letters, total = await reads.dead_letters(None, endpoint, event, limit)
    lines = [
        f"{letter.event_id}  {letter.event}  {letter.endpoint_id}  {letter.last_outcome} after {letter.attempts}"
        f" attempts  {letter.finished_at}"
        for letter in letters
    ]
    lines.append(f"{total} dead letter{'' if total == 1 else 's'}")
    if total:
        lines.append("Send them again: leadwire redrives start")
    return Result({"total": total, "dead_letters": letters}, "\n".join(lines))


@command(dead_letters, "show")
@click.argument("event", metavar="EVENT_ID")
@click.option("--endpoint", metavar="ID")
async def show_(event: str, endpoint: str | None) -> Result:
    """Show the deliveries of one event, in any state: body, attempts, responses."""
    deliveries = await reads.deliveries_of(None, event, endpoint)
    return Result(deliveries, "\n".join(line for delivery in deliveries for line in _lines(delivery)))


def _lines(delivery: DeliveryDetail) -> list[str]:
    number = f"number {delivery.sequence}: " if delivery.sequence else ""
    return [
        f"{number}{delivery.event} to {delivery.endpoint_id} ({delivery.url or 'deleted'}): {delivery.state}",
        *(
            f"  {attempt.started_at}  attempt {attempt.number}: {attempt.outcome}"
            f" {attempt.http_status or attempt.error or ''} in {attempt.duration_ms} ms"
            for attempt in delivery.history
        ),
        f"  {delivery.body or '(erased)'}",
    ]
