"""`leadwire endpoints`, for operators; customers use the web area, which alone has secrets, keys and certificates."""

import asyncio
import sys
from typing import Any, Final

import click
from msgspec import UNSET, UnsetType

from leadwire.domain.webhooks.schema import REMOVED, Attempt, Endpoint, EndpointChange
from leadwire.infrastructure.errors import OperatorError
from leadwire.interfaces.cli.lazy import lazily
from leadwire.interfaces.cli.runtime import Result, audited, command, listing, the_workspace, workspace_option

with lazily():
    from leadwire.domain.webhooks import changes, reads

_URL_HELP: Final = (
    "Where to send events: https and public, or in LEADWIRE_ALLOWED_NETWORKS; pull:NAME for a receiver that fetches."
)

_POLL: Final = 0.05  # seconds
_LONGEST_WAIT: Final = 35.0  # seconds, more than a delivery may take

_endpoint = click.argument("endpoint_id", metavar="ID")


endpoints = click.Group("endpoints", help="Webhook endpoints.")


@command(endpoints)
@click.option("--url", required=True, help=_URL_HELP)
@click.option("--event", "events", multiple=True, required=True, help="A kind of event to subscribe to. Repeatable.")
@click.option("--enable", is_flag=True, help="Enable it right away.")
@workspace_option
async def create(url: str, events: tuple[str, ...], enable: bool, workspace: str | None) -> Result:
    """Create an endpoint. Its secret is shown only once."""
    chosen = await the_workspace(workspace)
    async with audited("endpoint.created", workspace=chosen) as entry:
        endpoint = await changes.create(chosen, url, events)
        entry.subject, entry.detail = endpoint.id, f"url: {endpoint.url}; events: {' '.join(endpoint.events)}"
    if enable:
        async with audited("endpoint.enabled", endpoint.id):
            await changes.enable(None, endpoint.id)
    document = {
        "id": endpoint.id,
        "secret": endpoint.secret,
        "url": endpoint.url,
        "events": endpoint.events,
        "enabled": enable,
    }
    then = "" if enable else f"\nThen: leadwire endpoints test {endpoint.id} && leadwire endpoints enable {endpoint.id}"
    return Result(document, f"{endpoint.id}\n{endpoint.secret}\n\nCopy the secret now: it is not shown again.{then}")


@command(endpoints, "list")
@workspace_option
async def list_(workspace: str | None) -> Result:
    """List endpoints."""
    rows = await reads.endpoints(workspace and await the_workspace(workspace))
    return listing(
        rows, _line, "No endpoints yet. Create one: leadwire endpoints create --url URL --event lead.created"
    )


def _rate(_context: click.Context, _option: click.Parameter, text: str | None) -> int | None | UnsetType:
    if text is None:
        return UNSET
    if text != "none" and not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise click.BadParameter("a number of deliveries a minute, or `none`")
    return None if text == "none" else int(text)


@command(endpoints)
@_endpoint
@click.option("--url", help="The new URL, or pull:NAME.")
@click.option(
    "--auto-redrive/--no-auto-redrive", default=None, help="Send what dies from now on again, once it answers."
)
@click.option("--rate", "rate_limit", callback=_rate, help="Maximum deliveries a minute, or `none`.")
async def configure(endpoint_id: str, rate_limit: int | None | UnsetType, **chosen: Any) -> Result:
    """Change an endpoint, from the next attempt on. A URL with another origin removes the custom headers."""
    values = {name: value for name, value in chosen.items() if value is not None}
    async with audited("endpoint.changed", endpoint_id) as entry:
        endpoint = await changes.configure(None, endpoint_id, EndpointChange(rate_limit=rate_limit, **values))
        entry.detail = "; ".join(endpoint.changes)
    removed = f"{REMOVED}: {', '.join(endpoint.removed_headers)}." if endpoint.removed_headers else ""
    return Result(endpoint, _line(endpoint), note=removed)


@command(endpoints)
@_endpoint
async def enable(endpoint_id: str) -> Result:
    """Enable an endpoint. Events that have waited are sent too."""
    async with audited("endpoint.enabled", endpoint_id):
        await changes.enable(None, endpoint_id)
    return Result({"id": endpoint_id, "enabled": True}, f"{endpoint_id} is enabled.")


@command(endpoints)
@_endpoint
async def disable(endpoint_id: str) -> Result:
    """Disable an endpoint. What waits is sent when it is enabled again; what happens meanwhile has to be replayed."""
    async with audited("endpoint.disabled", endpoint_id):
        await changes.disable(None, endpoint_id)
    return Result({"id": endpoint_id, "enabled": False}, f"{endpoint_id} is disabled.")


@command(endpoints)
@_endpoint
async def delete(endpoint_id: str) -> Result:
    """Delete an endpoint and cancel its unfinished deliveries."""
    async with audited("endpoint.deleted", endpoint_id) as entry:
        entry.detail = (await reads.endpoint(None, endpoint_id)).url
        await changes.delete(None, endpoint_id)
    return Result({"id": endpoint_id, "deleted": True}, f"{endpoint_id} is deleted.")


@command(endpoints)
@_endpoint
@click.option("--dry-run", is_flag=True, help="Only count them.")
@click.option("--yes", is_flag=True, help="Do not ask.")
async def discard(endpoint_id: str, dry_run: bool, yes: bool) -> Result:
    """Cancel the deliveries that wait for an endpoint, retries included. None is sent unless somebody replays it.

    `leadwire background` does it within seconds. What is being sent is not affected, nor is what comes later.
    """
    endpoint = await reads.endpoint(None, endpoint_id)
    waiting = await changes.count_waiting(None, endpoint_id)
    if dry_run:
        return Result({"would_discard": waiting}, f"{waiting} deliveries would be canceled.")
    if not yes:
        if not sys.stdin.isatty():
            raise OperatorError(f"{waiting} deliveries would be canceled. To do it, say --yes.")
        click.confirm(f"Cancel {waiting} deliveries to {endpoint.url}?", abort=True, err=True)
    async with audited("endpoint.discarded", endpoint_id) as entry:
        count = await changes.discard(None, endpoint_id)
        entry.detail = f"waiting: {count} -> 0"
    return Result({"id": endpoint_id, "discarded": count}, f"{count} deliveries are being canceled.")


@command(endpoints)
@_endpoint
@click.option("--event", "kind", help="The kind of event to send; by default the first it subscribes to.")
async def test(endpoint_id: str, kind: str | None) -> Result:
    """Send a signed test event like any other and show the response. Exit 1 if it was not a 2xx."""
    async with audited("endpoint.tested", endpoint_id) as entry:
        event_id = entry.detail = await changes.send_test(None, endpoint_id, kind)
    return await _outcome(event_id, endpoint_id)


async def _outcome(event_id: str, endpoint_id: str) -> Result:
    """What came of a test event: its first attempt, waited for. The code is 1 if it was not answered with a 2xx."""
    attempt = await _first_attempt(event_id, endpoint_id)
    document = {"event_id": event_id, "attempt": attempt}
    if attempt is None:
        note = f"{event_id} is not sent yet. Are `leadwire relay` and `leadwire deliver` running?"
        return Result(document, "", 1, note)
    answer = attempt.http_status or attempt.error or "fetched"
    text = f"{event_id}: {attempt.outcome} ({answer}) in {attempt.duration_ms} ms"
    return Result(document, text, 0 if attempt.outcome == "delivered" else 1)


async def _first_attempt(event_id: str, endpoint_id: str) -> Attempt | None:
    """Wait for the first attempt of a delivery. Return None when there is none in time."""
    for _ in range(int(_LONGEST_WAIT / _POLL)):
        for delivery in await reads.deliveries_of(None, event_id, endpoint_id, awaited=True):
            if delivery.history:
                return delivery.history[0]
        await asyncio.sleep(_POLL)
    return None


def _line(endpoint: Endpoint) -> str:
    """What an operator acts on; `--json` has everything."""
    state = "enabled" if endpoint.enabled else f"disabled ({endpoint.disabled_reason or 'not enabled yet'})"
    more = [
        f"{endpoint.rate_limit} a minute" if endpoint.rate_limit else "",
        "new host" if endpoint.new_host else "",
        f"sends dead letters again since {endpoint.auto_redrive_since}" if endpoint.auto_redrive else "",
        f"failing since {endpoint.failing_since}" if endpoint.failing_since else "",
        "suspended with its workspace" if endpoint.held
        else f"paused by its receiver until {endpoint.paused_until}" if endpoint.paused_until else "",
    ]  # fmt: skip
    return "  ".join([endpoint.id, state, endpoint.url, f"[{' '.join(endpoint.events)}]", *filter(None, more)])
