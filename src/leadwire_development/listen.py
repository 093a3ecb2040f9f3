"""`leadwire listen`: a receiver for development, which verifies and prints webhooks."""

import asyncio
import base64
import json
import logging
import os
import sys
from collections.abc import Sequence
from typing import Any, Final

import click
import msgspec

from leadwire.infrastructure.errors import OperatorError
from leadwire.infrastructure.settings import LARGEST_WEBHOOK
from leadwire.interfaces.cli.runtime import running, the_workspace, workspace_option
from leadwire_development.receiver import Receiver, Seen
from leadwire_development.supervisor import plain

_MARKS: Final = {True: ("verified", "green"), False: ("REFUSED ", "red"), None: ("unsigned", "yellow")}


_EXAMPLES: Final = """\b
Examples:
  leadwire listen --forward http://localhost:3000/hooks
  leadwire listen --secret whsec_... --fail-first 2
  leadwire listen --pull https://leads.example.com --token lwr_... --json
"""


@click.command(epilog=_EXAMPLES)
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", default=9000, show_default=True, type=click.IntRange(0, 65535), help="0 takes any free port.")
@click.option(
    "--secret", help="The endpoint's secret (or LEADWIRE_LISTEN_SECRET); without it signatures are not checked."
)
@click.option("--status", default=204, show_default=True, type=click.IntRange(200, 599), help="The status to answer.")
@click.option(
    "--fail-first", default=0, type=click.IntRange(0), help="Answer 500 to the first N attempts of each event."
)
@click.option("--delay", default=0.0, type=click.FloatRange(0, 3600), help="Seconds to wait before answering.")
@click.option("--forward", metavar="URL", help="Send each delivery on to URL and answer what it answers.")
@click.option("--event", "kinds", multiple=True, help="With --forward alone: only events of this kind. Repeatable.")
@click.option("--pull", metavar="URL", help="Fetch an endpoint's deliveries from the Leadwire there instead.")
@click.option("--token", help="The endpoint's token, for --pull (or LEADWIRE_LISTEN_TOKEN).")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object a line.")
@workspace_option
def listen(
    host: str, port: int, secret: str | None, forward: str | None, pull: str | None, as_json: bool, **more: Any
) -> None:
    """Receive webhooks, verify and print them. Answers 401 if a signature does not match.

    With --pull it fetches them instead, and acknowledges those that it would answer with a 2xx status. With --forward
    and neither --pull nor --secret, it fetches the events of this installation from now on, under an endpoint that it
    removes when it stops.
    """
    secret = secret or os.environ.get("LEADWIRE_LISTEN_SECRET") or None
    if secret and not _is_secret(secret):
        raise OperatorError("--secret must be the endpoint's secret, as it was copied: whsec_...")
    show = _show_json if as_json else _show
    answers = {name: more[name] for name in ("status", "fail_first", "delay")}
    receiver = Receiver(secret, show=show, **answers)
    if forward:
        from leadwire_development.fetching import forwarding

        receiver.forward = forwarding(forward)
    if forward and not (pull or secret):
        _forward(receiver, forward, more["kinds"], more["workspace"], as_json=as_json)
    elif pull is None:
        asyncio.run(_listen(receiver, host, port, as_json=as_json))
    elif token := more["token"] or os.environ.get("LEADWIRE_LISTEN_TOKEN"):
        asyncio.run(_pull(receiver, pull, token))
    else:
        raise OperatorError("--pull needs --token, the endpoint's token: its settings in the web area make one.")


@running
async def _forward(
    receiver: Receiver, target: str, kinds: Sequence[str], workspace: str | None, *, as_json: bool
) -> None:
    from leadwire.domain.webhooks.samples import SAMPLES
    from leadwire.infrastructure.process import stop_event
    from leadwire_development.fetching import Local, fetch_all, own_endpoint

    owner = await the_workspace(workspace, create=False)
    receiver.stop = stop_event()
    async with own_endpoint(owner, kinds or list(SAMPLES), target) as made:
        receiver.secret = made.secret
        if as_json:
            _print(json.dumps({"forwarding": target, "endpoint": made.id, "secret": made.secret}))
        else:
            click.echo(f"forwarding to {target}, signed with {made.secret}", err=True)
        await fetch_all(receiver, Local(owner, made.id))


async def _listen(receiver: Receiver, host: str, port: int, *, as_json: bool) -> None:
    from leadwire.infrastructure.process import bind, stop_event
    from leadwire.infrastructure.serving import serve_until

    listening = bind(host, port)
    bound = listening.getsockname()[1]
    url = f"http://{f'[{host}]' if ':' in host else host}:{bound}"
    receiver.stop = stop_event()  # before the line below: whoever reads it may stop us at once
    if as_json:
        _print(json.dumps({"listening": url}))
    else:
        click.echo(f"listening on {url}", err=True)  # apart from what arrives, which `up` shows alone
    quieting = asyncio.create_task(_quiet(receiver.stop))
    await serve_until(receiver.stop, receiver, listening)
    quieting.cancel()


async def _pull(receiver: Receiver, url: str, token: str) -> None:
    from leadwire.infrastructure.process import stop_event
    from leadwire_development.fetching import Remote, fetch_all

    source = Remote(url, token)
    receiver.stop = stop_event()
    click.echo(f"fetching from {url}", err=True)
    await fetch_all(receiver, source)


async def _quiet(stop: asyncio.Event) -> None:
    """Silence uvicorn from the stop on: cutting off a slow sender is intended then, not an error."""
    await stop.wait()
    logging.getLogger("uvicorn.error").disabled = True


def _is_secret(text: str) -> bool:
    try:
        return text.startswith("whsec_") and len(base64.b64decode(text.removeprefix("whsec_"), validate=True)) > 0
    except ValueError:
        return False


def _show(seen: Seen) -> None:
    mark, color = _MARKS[seen.verified]
    why = f"  ({seen.reason})" if seen.reason else ""
    test = "  test" if seen.test else ""
    _print(
        f"{seen.received_at[11:23]}  {click.style(mark, fg=color)}  {plain(seen.event):<21} {plain(seen.subject)}  "
        f"{plain(seen.webhook_id)}  attempt {plain(seen.attempt)}  answered {seen.status}{test}{why}"
    )


def _show_json(seen: Seen) -> None:
    line = msgspec.structs.asdict(seen)
    if seen.size > LARGEST_WEBHOOK:  # nothing that Leadwire sends
        line["body"] = None
    try:
        _print(json.dumps(line, allow_nan=False))
    except (ValueError, RecursionError):  # NaN, 1e999, nesting: Python's reader takes what is no JSON to write
        _print(json.dumps(line | {"body": None}))


def _print(line: str) -> None:
    try:
        click.echo(line)
        sys.stdout.flush()
    except BrokenPipeError:
        os._exit(0)  # nobody reads any more
