"""`leadwire visitors`: the demo's visitors; `up` runs it."""

import click

from leadwire.cli.running import run_loop
from leadwire.errors import OperatorError
from leadwire.settings import Settings


@click.command(hidden=True)
def visitors() -> None:
    """Let simulated visitors talk to the demo's bots."""

    async def work(settings: Settings) -> None:
        import asyncio

        from leadwire.accounts import reads
        from leadwire.demo.seed import WORKSPACE
        from leadwire.demo.visitors import talk
        from leadwire.serving import connections, stop_event

        stop = stop_event()
        async with connections(settings.database_url, settings.redis_url, 4):
            demo = [workspace for workspace, name in await reads.workspaces() if name == WORKSPACE]
            if not demo:
                raise OperatorError("there is no demo workspace here: run `leadwire up`")
            await talk(demo[0], stop)
            await asyncio.sleep(0)

    run_loop(work)
