"""`leadwire visitors`: the demo's visitors; `up` runs it."""

import click

from leadwire.infrastructure.errors import OperatorError
from leadwire.infrastructure.settings import Settings
from leadwire.interfaces.cli.runtime import run_loop


@click.command(hidden=True)
@click.option("--url", default="http://127.0.0.1:8000", show_default=True, help="Where the widget's channel is.")
def visitors(url: str) -> None:
    """Let simulated visitors talk to the demo's bots."""

    async def work(settings: Settings) -> None:
        import asyncio

        from leadwire.development.demo.seed import WORKSPACE
        from leadwire.development.demo.visitors import talk
        from leadwire.domain.accounts import reads
        from leadwire.infrastructure.serving import connections, stop_event

        stop = stop_event()
        async with connections(settings.database_url, settings.redis_url, 4):
            demo = [workspace for workspace, name in await reads.workspaces() if name == WORKSPACE]
            if not demo:
                raise OperatorError("there is no demo workspace here: run `leadwire up`")
            await talk(demo[0], url, stop)
            await asyncio.sleep(0)

    run_loop(work)
