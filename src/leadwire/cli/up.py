"""`leadwire up`: everything, on this machine, in the foreground."""

import asyncio
import contextlib
import os
import signal
from pathlib import Path

import click
import msgspec

from leadwire import settings
from leadwire.errors import OperatorError
from leadwire.settings import Settings

_LOOPBACK = "127.0.0.0/8,::1/128"
_LARGEST_LOG = 10_000_000  # bytes


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", default=8000, show_default=True, type=click.IntRange(1, 65535))
@click.option("--data-dir", type=click.Path(path_type=Path, file_okay=False), help="Default: .leadwire")
@click.option("--no-demo", is_flag=True, help="No simulated visitors and no receiver.")
def up(host: str, port: int, data_dir: Path | None, no_demo: bool) -> None:
    """Start everything here: servers, API, relay, delivery worker, and a demo to watch."""
    from leadwire.processes import bind

    if data_dir:
        os.environ["LEADWIRE_DATA_DIR"] = str(data_dir.absolute())
    os.environ.setdefault("LEADWIRE_ALLOWED_NETWORKS", _LOOPBACK)
    settings.get.cache_clear()
    chosen = settings.get()
    bind(host, port).close()  # a port in use is told before anything is started
    with _data_dir(chosen.data_dir) as directory, contextlib.suppress(KeyboardInterrupt):
        from leadwire.embedded import services

        click.echo("Starting PostgreSQL and Valkey ..." if not chosen.database_url else "Connecting ...")
        with services(chosen) as running:
            full = msgspec.structs.replace(
                chosen, database_url=running.database_url, redis_url=running.redis_url, data_dir=directory
            )
            asyncio.run(_up(full, host, port, demo=not no_demo))
    click.echo("Stopped. Your data is kept.")


@contextlib.contextmanager
def _data_dir(path: Path):  # type: ignore[no-untyped-def]  # noqa: ANN202 - a generator of Path
    """The data directory, ours alone while we run. Raises OperatorError."""
    import fcntl

    directory = path.absolute()
    try:
        (directory / "logs").mkdir(parents=True, exist_ok=True)
        lock = (directory / "up.lock").open("a")
    except OSError as error:
        raise OperatorError(f"the data directory {directory} cannot be used: {error.strerror}") from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise OperatorError(f"another `leadwire up` is running on {directory}") from error
        for log in (directory / "logs").glob("*.log"):
            if log.stat().st_size > _LARGEST_LOG:
                log.replace(log.with_suffix(".log.old"))
        yield directory


async def _up(full: Settings, host: str, port: int, *, demo: bool) -> None:
    from leadwire.cli.stage import Stage

    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, stop.set)
    stage = Stage(full, host, port, demo=demo)
    playing = asyncio.create_task(stage.play())
    stopping = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait([playing, stopping], return_when=asyncio.FIRST_COMPLETED)
        if playing.done():
            await playing
        click.echo("\nStopping ...")
    finally:
        playing.cancel()
        with contextlib.suppress(asyncio.CancelledError, OperatorError):
            await playing
        await stage.clear()
