"""What commands share: servers, an event loop, the choice of a workspace, JSON on stdout, errors in words."""

import asyncio
import errno
import functools
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from importlib.metadata import entry_points
from typing import Any, NamedTuple, ParamSpec, TypeVar

import click
import msgspec

from leadwire.infrastructure import settings
from leadwire.infrastructure.errors import OperatorError
from leadwire.infrastructure.settings import Settings
from leadwire.interfaces.cli.lazy import lazily

with lazily():
    from leadwire.delivery import epochs
    from leadwire.domain.accounts import changes, reads
    from leadwire.domain.accounts.audit import changes as audit
    from leadwire.domain.webhooks import reads as webhooks
    from leadwire.infrastructure import db, serving, telemetry

P = ParamSpec("P")
T = TypeVar("T")

Work = Callable[..., Awaitable["Result"]]

workspace_option = click.option(
    "--workspace", metavar="ID", help="The workspace. Not needed while there is only one; created if there is none."
)
json_option = click.Option(["--json", "as_json"], is_flag=True, help="Print one JSON document.")


def servers(*, new: bool = False) -> AbstractContextManager[Settings]:
    """Return the settings with both server addresses: as set, or, in development, of servers on this machine.

    Raise OperatorError where there are none yet, unless `new` ones may be made.
    """
    for development in entry_points(group="leadwire.servers"):
        opened: AbstractContextManager[Settings] = development.load()(new=new)
        return opened
    chosen = settings.get()
    if chosen.database_url and chosen.redis_url:
        return nullcontext(chosen)
    raise OperatorError("LEADWIRE_DATABASE_URL and LEADWIRE_REDIS_URL say where PostgreSQL and Redis are: set both")


class Result(NamedTuple):
    """What a command did. Printed are the document with `--json`, else the text, and the note to stderr."""

    document: Any
    text: str
    code: int = 0
    """With which the command exits."""
    note: str = ""


def listing(rows: Sequence[T], line: Callable[[T], str], empty: str) -> Result:
    """A list: a line for each, or `empty` where there are none."""
    return Result(rows, "\n".join(map(line, rows)) or empty)


def show(result: Result, *, as_json: bool) -> int:
    """Print a result. Return the code with which the command exits."""
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(result.document), indent=2))
        return result.code
    for text, err in ((result.text, False), (result.note, True)):
        if text:
            click.echo(text, err=err)
    return result.code


def running(command: Callable[P, Awaitable[T]], *, migrated: bool = True, role: "db.Role" = "pages") -> Callable[P, T]:
    """Run an async command with the database and Redis open. `migrated=False`: the command itself makes the tables.

    A statement may take as long as that of a page: whoever types it should not wait for somebody's lock and never know.
    """

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        with servers(new=not migrated) as chosen:
            return asyncio.run(_connected(chosen, lambda: command(*args, **kwargs), migrated=migrated, role=role))

    return run


def patiently(command: Callable[P, Awaitable[T]]) -> Callable[P, T]:
    """The same for a command that reads or writes a lot: it takes as long as it takes."""
    return running(command, role="maintenance")


def command(
    group: click.Group | None = None, name: str | None = None, run: Callable[[Any], Callable[..., Result]] = running
) -> Callable[[Work | Callable[..., Result]], click.Command]:
    """Declare a command whose result is printed, with `--json` as a JSON document. `run` says with what it runs: by
    default with the database and Redis open.
    """

    def declare(work: Work | Callable[..., Result]) -> click.Command:
        @functools.wraps(work)
        def printed(*, as_json: bool, **options: Any) -> int:
            return show(run(work)(**options), as_json=as_json)

        click_command = (group.command if group else click.command)(name)(printed)
        click_command.params.append(json_option)
        return click_command

    return declare


def run_loop(work: Callable[[Settings], Coroutine[Any, Any, None]]) -> None:
    """Run a process of the service on uvloop, until it gets a signal to stop."""
    import uvloop

    telemetry.configure(settings.get().log_format, settings.get().log_level)
    with servers() as chosen, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(work(chosen))


@asynccontextmanager
async def audited(action: str, subject: str = "", workspace: str = "") -> "AsyncIterator[audit.Entry]":
    """A transaction for an operator's change, which adds its entry to the audit log of the workspace at its end.

    Without a workspace, it is about the endpoint `subject`. Raise NotFound where there is none.
    """
    async with db.transaction():
        entry = audit.Entry(action, subject)
        owner = workspace or (await webhooks.endpoint(None, subject)).workspace_id
        yield entry
        await audit.record(owner, "operator", entry)


async def the_workspace(chosen: str | None, *, create: bool = True) -> str:
    """Return the workspace to act in: the chosen, the only, or a new one when there is none. Raise OperatorError."""
    workspaces = await reads.workspace_list()
    if chosen:
        if chosen not in {workspace.id for workspace in workspaces}:
            raise OperatorError(f"there is no workspace {chosen}")
        return chosen
    if len(workspaces) > 1:
        names = ", ".join(f"{workspace.id} ({workspace.name})" for workspace in workspaces)
        raise OperatorError(f"there are several workspaces; choose one with --workspace: {names}")
    if not workspaces and not create:
        raise OperatorError("there is no workspace yet")
    return workspaces[0].id if workspaces else await changes.create_workspace("Default")


def join_link(token: str) -> str:
    """The address of a one-time link; of its path alone where the installation's is not known, which is said."""
    address = settings.get().public_url
    if not address:
        click.echo("  Put the address of your installation in front, or set LEADWIRE_PUBLIC_URL.", err=True)
    return f"{address}/join/{token}"


def explain(error: BaseException) -> str | None:
    """One line about it, or None when it is no error of a server, a file or an argument."""
    if isinstance(error, OSError) and (error.filename or error.errno == errno.ENOSPC):
        return f"{error.filename or 'cannot write'}: {error.strerror}"
    if isinstance(error.__cause__, UnicodeEncodeError):  # as of a value of a statement
        return f"{error.__cause__.object!a} is no text in UTF-8"
    return _of_server(error)


def _of_server(error: BaseException) -> str | None:
    import asyncpg
    from redis.exceptions import RedisError

    if isinstance(error, db.UNPREPARED) and not isinstance(error, db.WITHHELD):
        return f"the database lacks what this version needs ({error}): run `leadwire migrate`"
    if isinstance(error, asyncpg.DuplicatePreparedStatementError | asyncpg.InvalidSQLStatementNameError):
        needed = "PgBouncer 1.21 or later with max_prepared_statements, or pool_mode = session"
        return f"a pooler between us and the database loses prepared statements: {needed}"
    if isinstance(error, RedisError):
        return f"Redis cannot be reached: {error}"
    if isinstance(error, (*db.GONE, db.Canceled)):
        what = "ended a statement" if (canceled := isinstance(error, db.Canceled)) else "cannot be reached"
        hint = " (`leadwire doctor` tells whether somebody holds a lock)" if canceled else ""
        return f"the database {what}: {str(error) or type(error).__name__}{hint}"
    if isinstance(error, (*db.TRANSIENT, *db.WITHHELD, db.Locked, asyncpg.InternalServerError)):
        return f"the database refuses: {error}"
    return None


async def _connected(chosen: Settings, work: Callable[[], Awaitable[T]], *, migrated: bool, role: "db.Role") -> T:
    from leadwire.infrastructure.db.migrations import migrate

    async with serving.connections(chosen.database_url, chosen.redis_url, 3):
        if migrated and not settings.get().database_url:
            await migrate()  # nobody else migrates an embedded database
        if migrated:
            await epochs.note()
        with db.acting_as(role if migrated else "maintenance"):
            result = await work()
        await asyncio.sleep(0.01)  # lets a wake-up be sent; the relay would find the change at its next poll
        return result
