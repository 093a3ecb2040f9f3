"""`leadwire endpoints`, for operators; customers use the web area."""

import asyncio
from typing import TYPE_CHECKING, Any, Final

import click

from leadwire.interfaces.cli.discard import discard
from leadwire.interfaces.cli.endpoint_secrets import secret
from leadwire.interfaces.cli.runtime import (
    audited,
    json_option,
    print_json,
    print_list,
    report,
    running,
    the_workspace,
    workspace_option,
)

if TYPE_CHECKING:
    from msgspec import UnsetType

    from leadwire.domain.webhooks.schema import Attempt, Endpoint, EndpointChange

_POLL: Final = 0.05  # seconds
_LONGEST_WAIT: Final = 35.0  # seconds, more than a delivery may take


@click.group()
def endpoints() -> None:
    """Webhook endpoints."""


endpoints.add_command(secret)
endpoints.add_command(discard)


@endpoints.command()
@click.option("--url", required=True, help="Where to send events: https and public, or in LEADWIRE_ALLOWED_NETWORKS.")
@click.option("--event", "events", multiple=True, required=True, help="A kind of event to subscribe to. Repeatable.")
@click.option("--enable", is_flag=True, help="Enable it right away.")
@workspace_option
@json_option
@running
async def create(url: str, events: tuple[str, ...], enable: bool, workspace: str | None, as_json: bool) -> None:
    """Create an endpoint. Its secret is shown only once."""
    from leadwire.domain.accounts.changes import audit
    from leadwire.domain.webhooks import changes
    from leadwire.infrastructure import db

    chosen = await the_workspace(workspace)
    async with db.transaction():
        made = await changes.create(chosen, url, events)
        await audit.record(chosen, "operator", audit.Entry("endpoint.created", made.id, made.url))
    if enable:
        async with audited("endpoint.enabled", made.id):
            await changes.enable(None, made.id)
    document = {"id": made.id, "secret": made.secret, "url": made.url, "events": made.events, "enabled": enable}
    then = "" if enable else f"\nThen: leadwire endpoints test {made.id} && leadwire endpoints enable {made.id}"
    line = f"{made.id}\n{made.secret}\n\nCopy the secret now: it is not shown again.{then}"
    report(document, line, as_json=as_json)


@endpoints.command("list")
@workspace_option
@json_option
@running
async def list_(workspace: str | None, as_json: bool) -> None:
    """List endpoints."""
    from leadwire.domain.webhooks import reads

    empty = "No endpoints yet. Create one: leadwire endpoints create --url URL --event lead.created"
    print_list(await reads.endpoints(workspace and await the_workspace(workspace)), _line, empty, as_json=as_json)


def _rate(_context: click.Context, _option: click.Parameter, text: str | None) -> "int | None | UnsetType":
    from msgspec import UNSET

    if text is None:
        return UNSET
    if text != "none" and not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise click.BadParameter("a number of deliveries a minute, or `none`")
    return None if text == "none" else int(text)


def _headers(_context: click.Context, _option: click.Parameter, texts: tuple[str, ...]) -> dict[str, str]:
    if wrong := [text for text in texts if ":" not in text]:
        raise click.BadParameter(f"NAME:VALUE, not {wrong[0]}")
    return {name.strip(): value.strip() for name, _, value in (text.partition(":") for text in texts)}


@endpoints.command()
@click.argument("endpoint_id", metavar="ID")
@click.option("--url", help="The new URL.")
@click.option(
    "--event",
    "events",
    multiple=True,
    help="The kinds of events to subscribe to, instead of the current ones. Repeatable.",
)
@click.option("--ordered/--unordered", default=None, help="Send the events of a lead or conversation in order.")
@click.option("--numbered/--unnumbered", default=None, help="Number its deliveries without gaps.")
@click.option("--rate", callback=_rate, help="Maximum deliveries a minute, or `none`.")
@click.option(
    "--header",
    "headers",
    multiple=True,
    callback=_headers,
    metavar="NAME:VALUE",
    help="Custom headers, instead of the current ones. Repeatable.",
)
@click.option("--no-headers", is_flag=True, help="Remove all custom headers.")
@json_option
@running
async def configure(endpoint_id: str, as_json: bool, no_headers: bool, **given: Any) -> None:
    """Change an endpoint, from the next attempt on. A URL with another origin removes the custom headers."""
    from leadwire.domain.webhooks import changes
    from leadwire.domain.webhooks.schema import REMOVED

    async with audited("endpoint.changed", endpoint_id) as entry:
        endpoint = await changes.configure(None, endpoint_id, _change(no_headers=no_headers, **given))
        entry.detail = "; ".join(endpoint.changes)
    report(endpoint, _line(endpoint), as_json=as_json)
    if endpoint.removed_headers and not as_json:
        click.echo(f"{REMOVED}: {', '.join(endpoint.removed_headers)}.", err=True)


@endpoints.command()
@click.argument("endpoint_id", metavar="ID")
@json_option
@running
async def enable(endpoint_id: str, as_json: bool) -> None:
    """Enable an endpoint. Events that have waited are sent too."""
    from leadwire.domain.webhooks import changes

    async with audited("endpoint.enabled", endpoint_id):
        await changes.enable(None, endpoint_id)
    report({"id": endpoint_id, "enabled": True}, f"{endpoint_id} is enabled.", as_json=as_json)


@endpoints.command()
@click.argument("endpoint_id", metavar="ID")
@json_option
@running
async def disable(endpoint_id: str, as_json: bool) -> None:
    """Disable an endpoint. Its events wait until it is enabled."""
    from leadwire.domain.webhooks import changes

    async with audited("endpoint.disabled", endpoint_id):
        await changes.disable(None, endpoint_id)
    report({"id": endpoint_id, "enabled": False}, f"{endpoint_id} is disabled.", as_json=as_json)


@endpoints.command()
@click.argument("endpoint_id", metavar="ID")
@json_option
@running
async def delete(endpoint_id: str, as_json: bool) -> None:
    """Delete an endpoint and cancel its unfinished deliveries."""
    from leadwire.domain.webhooks import changes, reads

    async with audited("endpoint.deleted", endpoint_id) as entry:
        entry.detail = (await reads.endpoint(None, endpoint_id)).url
        await changes.delete(None, endpoint_id)
    report({"id": endpoint_id, "deleted": True}, f"{endpoint_id} is deleted.", as_json=as_json)


@endpoints.command()
@click.argument("endpoint_id", metavar="ID")
@click.option("--event", "kind", help="The kind of event to send; by default the first it subscribes to.")
@json_option
@running
async def test(endpoint_id: str, kind: str | None, as_json: bool) -> int:
    """Send a signed test event like any other and show the response. Exit 1 if it was not a 2xx."""
    from leadwire.domain.webhooks import changes

    event_id = await changes.send_test(None, endpoint_id, kind)
    attempt = await _first_attempt(event_id, endpoint_id)
    if as_json:
        print_json({"event_id": event_id, "attempt": attempt})
    elif attempt is None:
        click.echo(f"{event_id} is not sent yet. Are `leadwire relay` and `leadwire deliver` running?", err=True)
    else:
        answer = attempt.http_status or attempt.error
        click.echo(f"{event_id}: {attempt.outcome} ({answer}) in {attempt.duration_ms} ms")
    return 0 if attempt and attempt.outcome == "delivered" else 1


async def _first_attempt(event_id: str, endpoint_id: str) -> "Attempt | None":
    """Wait for the first attempt of a delivery. Return None when there is none in time."""
    from leadwire.domain.webhooks import reads

    for _ in range(int(_LONGEST_WAIT / _POLL)):
        for delivery in await reads.deliveries_of(None, event_id, endpoint_id, awaited=True):
            if delivery.history:
                return delivery.history[0]
        await asyncio.sleep(_POLL)
    return None


def _change(
    *,
    url: str | None,
    events: tuple[str, ...],
    rate: "int | None | UnsetType",
    headers: dict[str, str],
    no_headers: bool,
    **switches: bool | None,
) -> "EndpointChange":
    from msgspec import UNSET

    from leadwire.domain.webhooks.schema import EndpointChange

    return EndpointChange(
        url=url or UNSET,
        events=list(events) or UNSET,
        **{name: UNSET if value is None else value for name, value in switches.items()},
        rate_limit=rate,
        headers=headers if headers or no_headers else UNSET,
    )


def _line(endpoint: "Endpoint") -> str:
    state = "enabled" if endpoint.enabled else f"disabled ({endpoint.disabled_reason or 'not enabled yet'})"
    more = [
        "ordered" if endpoint.ordered else "",
        "numbered" if endpoint.numbered else "",
        f"{endpoint.rate_limit} a minute" if endpoint.rate_limit else "",
        f"headers {' '.join(endpoint.headers)}" if endpoint.headers else "",
        f"next secret staged {endpoint.staged_at}" if endpoint.staged_at else "",
        f"failing since {endpoint.failing_since}" if endpoint.failing_since else "",
        f"paused by its receiver until {endpoint.paused_until}" if endpoint.paused_until else "",
    ]
    return "  ".join([endpoint.id, state, endpoint.url, f"[{' '.join(endpoint.events)}]", *filter(None, more)])
