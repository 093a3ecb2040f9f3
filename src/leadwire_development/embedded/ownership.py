"""Own the servers of a data directory, or attach to the process that does.

Whoever takes the lock of a state directory owns its servers; the others read where they are. The kernel releases the
lock however its holder dies, so what is published is true only while the lock is held.
"""

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Final

import msgspec

from leadwire.infrastructure.errors import OperatorError
from leadwire.infrastructure.settings import Settings
from leadwire_development.embedded import postgres, valkey
from leadwire_development.embedded.directories import socket_directory, state_directory, write_private
from leadwire_development.embedded.server import Server, answers

_START_LIMIT: Final = 300.0  # seconds for both servers to be made, recovered and ready
_STOP_LIMIT: Final = 20.0  # more than a watchdog's patience
_PUBLISHED: Final = "urls.json"
_PATIENCE: Final = 305.0  # seconds for an owner to publish


class Services(msgspec.Struct):
    """Where the servers are. `servers` holds the ones we run ourselves, by name, for crash tests."""

    database_url: str
    redis_url: str
    servers: dict[str, Server] = {}
    owner: bool = False  # whether the servers end with us


class Published(msgspec.Struct):
    """What the owner tells: where its sockets are and the address of each server it runs, "" of one it does not."""

    sockets: str
    database_url: str
    redis_url: str


@contextlib.contextmanager
def services(settings: Settings, *, durable: bool = True) -> Iterator[Services]:
    """Both servers, for the length of the block; what has an address in `settings` is not started.

    Raises OperatorError, in one line, for whatever keeps them from running.
    """
    if settings.database_url and settings.redis_url:
        yield Services(settings.database_url, settings.redis_url)
        return
    with ExitStack() as stack:
        try:
            state = state_directory(settings.data_dir)
            lock = os.fdopen(os.open(state / "lock", os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o600), "w")
            published = _lock_or_wait(state, stack.enter_context(lock))
            found = _attach(settings, published) if published else _own(settings, state, stack, durable=durable)
        except OSError as error:
            place = error.filename or settings.data_dir.absolute()
            raise OperatorError(f"the servers cannot be run: {place}: {error.strerror}") from error
        yield found


def _attach(settings: Settings, published: Published) -> Services:
    found = Services(settings.database_url or published.database_url, settings.redis_url or published.redis_url)
    if not (found.database_url and found.redis_url):
        missing = "PostgreSQL" if not found.database_url else "Valkey"
        raise OperatorError(f"the process that owns {settings.data_dir} runs no {missing} of its own: set its address")
    return found


def _own(settings: Settings, state: Path, stack: ExitStack, *, durable: bool) -> Services:
    end = time.monotonic() + _START_LIMIT
    published = state / _PUBLISHED  # others attach while it exists
    published.unlink(missing_ok=True)
    run = socket_directory(state)
    found = Services(settings.database_url, settings.redis_url, {}, owner=True)
    mine = Published(str(run), "", "")
    stack.callback(_stop, found.servers, run)
    stack.callback(published.unlink, missing_ok=True)
    if not settings.redis_url:  # first, as it is up while a cluster is made
        found.redis_url, server = valkey.start(state, run, durable=durable)
        mine.redis_url = found.redis_url
        found.servers[server.name] = server
    if not settings.database_url:
        found.database_url, server = postgres.start(state, run, durable=durable, seconds=end - time.monotonic())
        mine.database_url = found.database_url
        found.servers[server.name] = server
    for server in found.servers.values():
        server.wait_ready(end - time.monotonic())
    write_private(state / _PUBLISHED, msgspec.json.encode(mine).decode())
    return found


def _stop(servers: dict[str, Server], run: Path) -> None:
    for server in servers.values():
        server.ask_to_stop()
    for server in servers.values():
        server.join(_STOP_LIMIT)
    with contextlib.suppress(OSError):
        run.rmdir()  # it may be in the system's directory for temporary files


def _lock_or_wait(state: Path, lock: IO[str]) -> Published | None:
    """None once we hold the lock, which closing the file gives up; else what its owner published, when that is true.

    Raises OperatorError when neither comes to be.
    """
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return None
        with contextlib.suppress(FileNotFoundError, msgspec.DecodeError):
            found = msgspec.json.decode((state / _PUBLISHED).read_bytes(), type=Published)
            if _serves(found):  # not if an owner died and the next one has not yet come to replace it
                return found
        time.sleep(0.05)
    raise OperatorError(f"another process holds {state / 'lock'} but its servers do not come up")


def _serves(published: Published) -> bool:
    sockets = Path(published.sockets)
    return (not published.database_url or answers(sockets / postgres.SOCKET, postgres.is_ready)) and (
        not published.redis_url or answers(sockets / valkey.SOCKET, valkey.is_ready)
    )
