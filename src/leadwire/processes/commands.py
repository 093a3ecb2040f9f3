"""`leadwire serve`, `relay`, `deliver`, `background`: one process each."""

import click

from leadwire.interfaces.cli.runtime import run_loop


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", default=8000, show_default=True, type=click.IntRange(0, 65535))
def serve(host: str, port: int) -> None:
    """Serve the /v1 API, the web area, the widget and the documentation."""
    from leadwire.infrastructure.process import bind
    from leadwire.processes.serve import serve

    listening = bind(host, port)
    run_loop(lambda settings: serve(settings, listening))


@click.command()
def relay() -> None:
    """Turn committed events into deliveries and queue them in the streams."""
    from leadwire.processes.relay import relay

    run_loop(relay)


@click.command()
def deliver() -> None:
    """Send queued deliveries: sign, POST, record."""
    from leadwire.processes.deliver import deliver

    run_loop(deliver)


@click.command()
def background() -> None:
    """Do everything else: mail, search, retention, redrives, jobs of many leads."""
    from leadwire.processes.background import background

    run_loop(background)
