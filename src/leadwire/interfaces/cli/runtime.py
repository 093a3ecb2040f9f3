"""What commands share: servers, an event loop, the choice of a workspace, JSON on stdout, errors in words."""

import asyncio
import functools
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import click
import msgspec

from leadwire.infrastructure import clock, settings
from leadwire.infrastructure.errors import OperatorError
from leadwire.infrastructure.settings import Settings

if TYPE_CHECKING:
    from leadwire.domain.accounts.changes.audit import Entry

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
    """Return the settings with both server addresses, found by what started the command line.

    Raise OperatorError where there are none yet, unless `new` ones may be made.
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


@asynccontextmanager
async def audited(action: str, endpoint_id: str) -> "AsyncIterator[Entry]":
    """A transaction for an operator's change of an endpoint, which adds the entry in the audit log at its end.

    Raise NotFound.
    """
    from leadwire.domain.accounts.changes import audit
    from leadwire.domain.webhooks import reads
    from leadwire.infrastructure import db

    async with db.transaction():
        entry = audit.Entry(action, endpoint_id)
        workspace = (await reads.endpoint(None, endpoint_id)).workspace_id
        yield entry
        await audit.record(workspace, "operator", entry)


def print_json(document: Any) -> None:
    """Print one JSON document."""
    click.echo(msgspec.json.format(msgspec.json.encode(document), indent=2))


def report(document: Any, line: str, *, as_json: bool, err: bool = False) -> None:
    """Print what a command did: the document with `--json`, else the line, with `err` to stderr."""
    print_json(document) if as_json else click.echo(line, err=err)


def print_list(found: Sequence[T], line: Callable[[T], str], empty: str, *, as_json: bool) -> None:
    """Print a list: one document with `--json`, else a line for each, or `empty` where there are none."""
    if as_json:
        print_json(found)
    else:
        click.echo("\n".join(map(line, found)) or empty)


async def the_workspace(chosen: str | None) -> str:
    """Return the workspace to act in: the chosen, the only, or a new one when there is none. Raise OperatorError."""
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


def explain(error: BaseException) -> str | None:
    """One line about it, or None when it is no error of a server."""
    import asyncpg
    from redis.exceptions import RedisError

    from leadwire.infrastructure.db import GONE, Canceled

    if isinstance(error, asyncpg.UndefinedTableError):
        return "this database has no Leadwire tables yet: run `leadwire migrate`"
    if isinstance(error, asyncpg.InvalidAuthorizationSpecificationError | asyncpg.InvalidCatalogNameError):
        return f"the database refuses: {error}"
    if isinstance(error, asyncpg.DuplicatePreparedStatementError | asyncpg.InvalidSQLStatementNameError):
        needed = "PgBouncer 1.21 or later with max_prepared_statements, or pool_mode = session"
        return f"a pooler between us and the database loses prepared statements: {needed}"
    if isinstance(error, RedisError):
        return f"Redis cannot be reached: {error}"
    if isinstance(error, (*GONE, Canceled)):
        what = "ended a statement" if isinstance(error, Canceled) else "cannot be reached"
        return f"the database {what}: {str(error) or type(error).__name__}"
    return None


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
            await migrate()  # nobody else migrates an embedded database
        result = await work()
        await asyncio.sleep(0.01)  # lets a wake-up be sent; the relay would find the change at its next poll
        return result
