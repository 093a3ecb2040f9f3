"""`serve` as `leadwire up` runs it: with the pages of development."""

import click

from leadwire.interfaces.cli.runtime import run_loop


@click.command()
@click.option("--host", default="127.0.0.1")
@click.option("--port", default=8000, type=click.IntRange(0, 65535))
@click.option("--demo-bot", default="", help="The bot on the website at /demo; without one there is none.")
def serve(host: str, port: int, demo_bot: str) -> None:
    """Serve the API, the web area, the mailbox and the demo's website."""
    from leadwire.infrastructure.process import bind
    from leadwire.processes.serve import serve
    from leadwire_development import pages

    listening = bind(host, port)
    more = [*pages.MAILBOX, *(pages.website(demo_bot) if demo_bot else ())]
    run_loop(lambda settings: serve(settings, listening, more))
