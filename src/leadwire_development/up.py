"""`leadwire up`: everything, on this machine, in the foreground. `leadwire visitors`: the demo's visitors.

The processes that it starts are in `stack`.
"""

import asyncio
import contextlib
import os
import signal
from pathlib import Path
from typing import Final

import click
import msgspec

from leadwire.infrastructure import settings
from leadwire.infrastructure.errors import OperatorError
from leadwire.infrastructure.process import bind
from leadwire.infrastructure.settings import Settings
from leadwire.interfaces.cli.runtime import run_loop, servers
from leadwire_development.embedded import services
from leadwire_development.instance import exclusive
from leadwire_development.stack import Stack

_LOOPBACK: Final = "127.0.0.0/8,::1/128"
_EXAMPLES: Final = """\b
Examples:
  leadwire up
  leadwire up --port 8080 --no-demo
"""


@click.command(epilog=_EXAMPLES)
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", default=8000, show_default=True, type=click.IntRange(1, 65535))
@click.option("--data-dir", type=click.Path(path_type=Path, file_okay=False), help="Default: .leadwire")
@click.option("--no-demo", is_flag=True, help="No demo workspace, simulated visitors or receiver.")
def up(host: str, port: int, data_dir: Path | None, no_demo: bool) -> None:
    """Start everything here: servers, API, relay, delivery worker, background work, and a demo to watch."""
    if data_dir:
        os.environ["LEADWIRE_DATA_DIR"] = str(data_dir.absolute())
    os.environ.setdefault("LEADWIRE_ALLOWED_NETWORKS", _LOOPBACK)
    settings.get.cache_clear()
    chosen = settings.get()
    bind(host, port).close()  # refuse a port in use before anything is started
    with exclusive(chosen.data_dir) as directory, contextlib.suppress(KeyboardInterrupt):
        click.echo("Starting PostgreSQL and Valkey ..." if not chosen.database_url else "Connecting ...")
        with services(chosen) as running:
            full = msgspec.structs.replace(
                chosen, database_url=running.database_url, redis_url=running.redis_url, data_dir=directory
            )
            asyncio.run(_up(full, host, port, demo=not no_demo))
    click.echo("Stopped. Your data is kept.")


@click.command(hidden=True)
@click.option("--url", default="http://127.0.0.1:8000", show_default=True, help="Where the widget's channel is.")
def visitors(url: str) -> None:
    """Let simulated visitors talk to the demo's bots."""

    async def work(settings: Settings) -> None:
        from leadwire.domain.accounts import reads
        from leadwire.domain.bots.reads import names
        from leadwire.infrastructure.process import stop_event
        from leadwire.infrastructure.serving import connections
        from leadwire_development.demo.seed import WORKSPACE
        from leadwire_development.demo.visitors import talk

        stop = stop_event()
        async with connections(settings.database_url, settings.redis_url, 4):
            demo = [workspace.id for workspace in await reads.workspace_list() if workspace.name == WORKSPACE]
            if not demo:
                raise OperatorError("there is no demo workspace here: run `leadwire up`")
            await talk(demo[0], list(await names(demo[0])), url, stop)
            await asyncio.sleep(0)

    run_loop(work)


@click.command(hidden=True)
@click.option("--receiver", type=int, help="Port of the demo's receiver. Without it there is no demo.")
def prepare(receiver: int | None) -> None:
    """Make what `up` shows, and print it as JSON."""
    from leadwire_development.preparation import prepare

    with servers() as chosen:
        click.echo(msgspec.json.encode(asyncio.run(prepare(chosen, receiver))))


async def _up(full: Settings, host: str, port: int, *, demo: bool) -> None:
    stack = Stack(full, host, port, demo=demo)
    running = asyncio.create_task(stack.run())
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, running.cancel)
    try:
        with contextlib.suppress(asyncio.CancelledError):
            await running
        click.echo("\nStopping ...")
    finally:
        await stack.stop()
