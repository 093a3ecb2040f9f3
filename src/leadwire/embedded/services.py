"""Own the servers of a data directory, or attach to whoever does."""

import contextlib
import fcntl
import hashlib
import json
import os
import re
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Final

import msgspec

from leadwire.embedded import postgres, valkey
from leadwire.embedded.account import SERVER_USER, open_to_all, private
from leadwire.embedded.server import Server
from leadwire.errors import OperatorError
from leadwire.settings import Settings

_PUBLISHED: Final = "urls.json"
_PATIENCE: Final = 70.0  # seconds for an owner to publish
_STOP_LIMIT: Final = 20.0
_LONGEST_SOCKET_DIRECTORY: Final = 80  # bytes: a unix socket's path holds 104 on macOS
_LARGEST_LOG: Final = 5_000_000


class Services(msgspec.Struct):
    """Where the servers are. `servers` holds the ones we own, by name, for crash tests."""

    database_url: str
    redis_url: str
    servers: dict[str, Server] = {}


@contextlib.contextmanager
def services(settings: Settings, *, durable: bool = True) -> Iterator[Services]:
    """Both servers, for the length of the block; what has an address in `settings` is not started.

    Raises OperatorError, in one line, for whatever keeps them from running.
    """
    wanted = {
        name: start
        for name, address, start in (
            ("database_url", settings.database_url, postgres.start),
            ("redis_url", settings.redis_url, valkey.start),
        )
        if not address
    }
    urls = {"database_url": settings.database_url, "redis_url": settings.redis_url}
    if not wanted:
        yield Services(settings.database_url, settings.redis_url)
        return
    with ExitStack() as stack:
        state = _state(settings.data_dir)
        published = _own_or_attach(state, stack.enter_context(_lock(state)))
        if published is not None:
            if missing := wanted.keys() - published.keys():
                raise OperatorError(f"the owner of {settings.data_dir} runs no server for {', '.join(missing)}")
            urls |= {name: published[name] for name in wanted}
            yield Services(urls["database_url"], urls["redis_url"])
            return
        (state / _PUBLISHED).unlink(missing_ok=True)
        run = _socket_directory(state)
        servers: dict[str, Server] = {}
        stack.callback(_stop, servers)
        stack.callback((state / _PUBLISHED).unlink, missing_ok=True)
        for name, start in wanted.items():
            urls[name], server = start(state, run, durable=durable)
            servers[server.name] = server
        for server in servers.values():
            server.wait_ready()
        _publish(state, {name: urls[name] for name in wanted})
        yield Services(urls["database_url"], urls["redis_url"], servers)


def _state(data_dir: Path) -> Path:
    """Where the servers' files are: `servers` in the data directory.

    As root the servers run as `nobody`, who may be unable to get there, as in a clone below /root: then their files
    are below /var/lib and `servers` is a link.
    """
    directory = data_dir.absolute()
    try:
        directory.mkdir(parents=True, exist_ok=True)
        state = directory / "servers"
        if SERVER_USER and not open_to_all(directory):
            name = hashlib.sha256(os.fsencode(directory)).hexdigest()[:16]
            elsewhere = Path("/var/lib/leadwire") / name
            elsewhere.mkdir(mode=0o711, parents=True, exist_ok=True)
            if not state.is_symlink():
                state.symlink_to(elsewhere)
            state = elsewhere
        state.mkdir(mode=0o711, exist_ok=True)
        state.chmod(0o711 if SERVER_USER else 0o700)
    except OSError as error:
        raise OperatorError(f"the data directory {directory} cannot be used: {error.strerror}") from error
    for log in state.glob("*.log"):
        if log.stat().st_size > _LARGEST_LOG:
            log.replace(log.with_suffix(".log.old"))
    return state.resolve()


def _lock(state: Path) -> IO[str]:
    try:
        return (state / "lock").open("a")
    except OSError as error:
        raise OperatorError(f"{state} cannot be used: {error.strerror}") from error


def _own_or_attach(state: Path, lock: IO[str]) -> dict[str, str] | None:
    """None once we hold the lock (the kernel gives it up however we die), else the addresses its owner published."""
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pass
        else:
            return None
        with contextlib.suppress(OSError, ValueError):
            found: dict[str, str] = json.loads((state / _PUBLISHED).read_text())
            return found
        time.sleep(0.05)
    raise OperatorError(f"another process holds {state}/lock but its servers do not come up")


def _socket_directory(state: Path) -> Path:
    """A private directory whose path is short and plain enough for a socket, an address and a setting."""
    run = state / "run"
    if len(os.fsencode(run)) > _LONGEST_SOCKET_DIRECTORY or re.search(r"[^\w./-]", str(run)):
        name = hashlib.sha256(os.fsencode(state)).hexdigest()[:16]
        run = Path(tempfile.gettempdir()) / f"leadwire-{name}"
    return private(run)


def _publish(state: Path, urls: dict[str, str]) -> None:
    draft = state / f"{_PUBLISHED}.tmp"
    draft.touch(mode=0o600)
    draft.write_text(json.dumps(urls))
    draft.replace(state / _PUBLISHED)


def _stop(servers: dict[str, Server]) -> None:
    for server in servers.values():
        server.ask_to_stop()
    for server in servers.values():
        server.join(_STOP_LIMIT)
