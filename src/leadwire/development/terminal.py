"""What `up` prints on the terminal."""

import shlex
from pathlib import Path
from typing import Final

import click
import msgspec

from leadwire.infrastructure.settings import Settings
from leadwire.interfaces.cli.receiver import plain


def introduce(url: str, directory: Path, key: str, lead: str, *, join: str, widget: bool, receiver: int | None) -> None:
    """Say where everything is and what to try. `receiver` is the port of the demo's, None without a demo."""
    curl = f"curl -s -H 'Authorization: Bearer {key}'"
    leadwire = f"{_where(directory)}uv run leadwire"
    area = f"Open the web area (works once, for three days):\n    {join}" if join else f"The web area: {url}/"
    click.echo(f"""
{click.style(f"  Leadwire is up at {url}", fg="green", bold=True)}
  data and logs in {directory}   API reference at {url}/docs
  webhooks may go to this machine (LEADWIRE_ALLOWED_NETWORKS=127.0.0.0/8,::1/128): never in production

  {area}
""")
    if widget:
        click.echo(f"  A website with the widget, to talk to a bot: {url}/demo\n")
    click.echo(f"""{click.style("  Try next", bold=True)}
    {curl} '{url}/v1/leads?limit=1'
    {curl} -X PATCH -H 'Content-Type: application/json' \\
      -d '{{"custom_fields": {{"stage": "won"}}}}' {url}/v1/leads/{lead}
    uv run leadwire listen --port 9000          # a receiver of your own, in another terminal
    {leadwire} endpoints create --url http://127.0.0.1:9000/ --event lead.updated --enable
    {leadwire} status
""")
    if receiver:
        click.echo(f"  Visitors are talking. What arrives, signed, at the demo's receiver on port {receiver}:\n")


def _where(directory: Path) -> str:
    """The setting by which a command in another terminal finds this data directory; nothing if it is the default."""
    found_anyway = directory == Settings().data_dir.absolute()
    return "" if found_anyway else f"LEADWIRE_DATA_DIR={shlex.quote(str(directory))} "


def warn(line: str) -> None:
    """Print a line about a process."""
    click.secho(f"  {line}", fg="yellow")


class _Delivery(msgspec.Struct):
    """What is shown of a line that `leadwire listen --json` prints."""

    received_at: str
    verified: bool | None
    event: str
    subject: str
    webhook_id: str
    attempt: str


_read_delivery: Final = msgspec.json.Decoder(_Delivery).decode


def show_delivery(line: str) -> None:
    """Print a delivery that the demo's receiver reported; ignore any other line."""
    try:
        delivery = _read_delivery(line)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return
    mark = click.style("verified", fg="green") if delivery.verified else click.style("REFUSED ", fg="red")
    attempt = "" if delivery.attempt == "1" else f"  attempt {plain(delivery.attempt)}"
    event, subject, webhook_id = plain(delivery.event), plain(delivery.subject), plain(delivery.webhook_id)
    click.echo(f"  {plain(delivery.received_at[11:23])}  {mark}  {event:<21} {subject}  {webhook_id}{attempt}")
