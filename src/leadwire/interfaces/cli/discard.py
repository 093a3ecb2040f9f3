"""`leadwire endpoints discard`: cancel what waits for an endpoint."""

import sys

import click

from leadwire.interfaces.cli.runtime import audited, json_option, report, running


@click.command()
@click.argument("endpoint_id", metavar="ID")
@click.option("--dry-run", is_flag=True, help="Only count them.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
@running
async def discard(endpoint_id: str, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Cancel the deliveries that wait for an endpoint, retries included. They are never sent.

    The relay does it within seconds. What is being sent is not affected, nor is what comes later.
    """
    from leadwire.domain.webhooks import changes, reads
    from leadwire.infrastructure.errors import OperatorError

    endpoint = await reads.endpoint(None, endpoint_id)
    waiting = await changes.count_waiting(None, endpoint_id)
    if dry_run:
        report({"would_discard": waiting}, f"{waiting} deliveries would be canceled.", as_json=as_json)
        return
    if not yes:
        if not sys.stdin.isatty():
            raise OperatorError(f"{waiting} deliveries would be canceled. To do it, say --yes.")
        click.confirm(f"Cancel {waiting} deliveries to {endpoint.url}?", abort=True, err=True)
    async with audited("endpoint.discarded", endpoint_id) as entry:
        count = await changes.discard(None, endpoint_id)
        entry.detail = f"waiting: {count} -> 0"
    report({"id": endpoint_id, "discarded": count}, f"{count} deliveries are being canceled.", as_json=as_json)
