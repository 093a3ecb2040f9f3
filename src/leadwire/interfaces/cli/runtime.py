"""What commands share: the servers they act on, an event loop, the choice of a workspace, JSON on stdout."""

import asyncio
import functools
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, ParamSpec, TypeVar

import click
import msgspec

from leadwire.infrastructure import clock, settings
from leadwire.infrastructure.errors import OperatorError
from leadwire.infrastructure.settings import Settings

P = ParamSpec("P")
T = TypeVar("T")

workspace_option = click.option(
    "--workspace", metavar="ID", help="The workspace. Not needed while there is only one; created if there is none."
)


def moment_option(name: str, **how: Any) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """An option that takes an ISO 8601 time."""
    return click.option(name, metavar="TIME", callback=_moment, **how)


json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


@contextmanager
def servers(*, new: bool = False) -> Iterator[Settings]:
    """The settings with both server addresses filled in, found by whoever started the command line.

    Raises OperatorError where there are none yet, unless `new` ones may be made.
    """
    with click.get_current_context().obj(new=new) as chosen:
        yield chosen


def running(command: Callable[P, Awaitable[T]], *, migrated: bool = True) -> Callable[P, T]:
    """Run an async command with the database and Redis open. `migrated=False`: the command itself makes the tables."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        with servers(new=not migrated) as chosen:
            return asyncio.run(_connected(chosen, lambda: command(*args, **kwargs), migrated=migrated))

    return run


def run_loop(work: Callable[[Settings], Awaitable[None]]) -> None:
    """Run a process of the service on uvloop, until it gets a signal to stop."""
    import uvloop

    from leadwire.infrastructure import telemetry

    telemetry.configure(settings.get().log_format, settings.get().log_level)
    with servers() as chosen:

        async def run() -> None:
            await work(chosen)

        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(run())


def show(document: Any) -> None:
    """One JSON document on stdout."""
    click.echo(msgspec.json.format(msgspec.json.encode(document), indent=2))


def tell(document: Any, line: str, *, as_json: bool) -> None:
    """What a command did: the document with `--json`, else the line."""
    show(document) if as_json else click.echo(line)


async def the_workspace(chosen: str | None) -> str:
    """The workspace to act in: the chosen one, the only one, or a new one when there is none. Raises OperatorError."""
    from leadwire.domain.accounts import changes, reads

    known = await reads.workspaces()
    if chosen:
        if chosen not in {workspace for workspace, _ in known}:
            raise OperatorError(f"there is no workspace {chosen}")
        return chosen
    if len(known) > 1:
        names = ", ".join(f"{workspace} ({name})" for workspace, name in known)
        raise OperatorError(f"there are several workspaces; choose one with --workspace: {names}")
    return known[0][0] if known else await changes.create_workspace("Default")


def _moment(_context: click.Context, _option: click.Parameter, text: str | None) -> datetime | None:
    try:
        return None if text is None else clock.parse(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


async def _connected(chosen: Settings, work: Callable[[], Awaitable[T]], *, migrated: bool) -> T:
    from leadwire.infrastructure.db.migrations import migrate
    from leadwire.infrastructure.serving import connections

    async with connections(chosen.database_url, chosen.redis_url, 2):
        if migrated and not settings.get().database_url:
            await migrate()  # the embedded database is ours to bring up to date
        result = await work()
        await asyncio.sleep(0.01)  # let a nudge out: the relay would find the change a poll later anyway
        return result
