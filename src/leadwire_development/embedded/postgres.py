"""The embedded PostgreSQL: its data directory, its settings, and whether it serves."""

import contextlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Final

from leadwire.infrastructure.errors import OperatorError
from leadwire_development.embedded.binaries import Binary, runnable
from leadwire_development.embedded.directories import check_account, private
from leadwire_development.embedded.server import Plan, Server, begin, launch, reason

DATABASE: Final = "leadwire"
SOCKET: Final = ".s.PGSQL.5432"
_READY_LINE: Final = 7  # of postmaster.pid
_SETTINGS: Final = {
    "listen_addresses": "",
    "port": "5432",  # names the socket, nothing else
    "unix_socket_permissions": "0700",
    "timezone": "UTC",
    "jit": "off",
    "max_connections": "200",
    "shared_buffers": "256MB",
    "log_checkpoints": "off",
    "log_error_verbosity": "terse",  # the detail of a broken constraint is somebody's e-mail address
}
_NOT_DURABLE: Final = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}

# The wire protocol, as much as it takes to ask: version 3.0, two parameters, and SQLSTATEs that are no refusal.
_PARAMETERS: Final = f"user\0postgres\0database\0{DATABASE}\0\0".encode()
_HELLO: Final = (len(_PARAMETERS) + 8).to_bytes(4, "big") + (3 << 16).to_bytes(4, "big") + _PARAMETERS
_GOODBYE: Final = b"X\0\0\0\4"
_NOT_NOW: Final = b"57"  # starting up, shutting down
_FULL: Final = b"53300"  # it serves, only not us


def start(state: Path, run: Path, *, durable: bool, seconds: float) -> tuple[str, Server]:
    """Start it, sockets in `run`. Answers its address and the server; wait until it is ready.

    Raises OperatorError, also when a new cluster is not made within `seconds`.
    """
    check_account()
    binary = runnable("postgres", state)
    data = state / f"postgres-{binary.version[0]}"  # per major: another one cannot read it
    if not data.exists():
        _create(binary, data, state / "initdb.log", durable=durable, seconds=seconds)
    _check(binary, data)
    chosen = _SETTINGS | {"unix_socket_directories": str(run)} | ({} if durable else _NOT_DURABLE)
    arguments = [part for name, value in chosen.items() for part in ("-c", f"{name}={value}")]
    pid_file = data / "postmaster.pid"

    def says_ready(client: socket.socket) -> bool:
        # Its own word first: whoever asks too early leaves a line in the log.
        with contextlib.suppress(IndexError, ValueError):
            return pid_file.read_text().splitlines()[_READY_LINE].strip() == "ready" and is_ready(client)
        return False

    plan = Plan(
        name="PostgreSQL", argv=[str(binary.path), "-D", str(data), *arguments],
        stop_signal=signal.SIGINT,  # fast shutdown
        data=data, pid_file=pid_file, socket=run / SOCKET, log=state / "postgres.log", is_ready=says_ready,
    )  # fmt: skip
    return f"postgresql://postgres@/{DATABASE}?host={run}&port=5432", Server(plan)


def is_ready(client: socket.socket) -> bool:
    """Whether the server behind `client` lets us into our database: a damaged one may listen and refuse everybody.

    Raises OperatorError with its words when it refuses for good.
    """
    client.sendall(_HELLO)
    with client.makefile("rb") as stream:
        while head := stream.read(5):
            kind, body = head[:1], stream.read(int.from_bytes(head[1:], "big") - 4)
            if kind == b"R" and any(body[:4]):
                raise OperatorError("it asks for a password: its pg_hba.conf was changed")
            if kind == b"E":
                said = {field[:1]: field[1:] for field in body.split(b"\0") if field}
                if said.get(b"C", b"").startswith(_NOT_NOW):
                    return False
                if said.get(b"C") == _FULL:
                    return True
                raise OperatorError(said.get(b"M", b"it refuses connections").decode(errors="replace"))
            if kind == b"Z":
                client.sendall(_GOODBYE)
                return True
    return False


def _create(binary: Binary, data: Path, log: Path, *, durable: bool, seconds: float) -> None:
    """Make the cluster with our empty database in it; one second is usual. Raises OperatorError with the reason."""
    end = time.monotonic() + seconds
    begin(log)
    for leftover in data.parent.glob(f"{data.name}.init-*"):
        shutil.rmtree(leftover, ignore_errors=True)
    # A name of its own: an owner killed a moment ago may have an initdb that is just ending.
    draft = private(Path(tempfile.mkdtemp(prefix=f"{data.name}.init-", dir=data.parent)))
    try:
        initdb = [str(binary.path.with_name("initdb")), "-D", str(draft), "-U", "postgres", "-E", "UTF8"]
        _do([*initdb, "--no-locale", "-A", "trust", *([] if durable else ["--no-sync"])], log, end)
        single_user = [str(binary.path), "--single", "-D", str(draft), "postgres"]
        _do(single_user, log, end, text=f"CREATE DATABASE {DATABASE}\n")
        draft.rename(data)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


def _check(binary: Binary, data: Path) -> None:
    """Raises OperatorError when `data` is not of the server's major version."""
    mark = data / "PG_VERSION"
    said = mark.read_text(errors="replace").strip() if mark.exists() else ""
    if said == str(binary.version[0]):
        return
    what = f"says {said[:20]!r}" if said else "is missing or empty"
    raise OperatorError(f"{data} cannot be used by PostgreSQL {binary.version[0]}: {mark.name} {what}")


def _do(command: list[str], log: Path, end: float, *, text: str = "") -> None:
    name = Path(command[0]).name
    with launch(command, signal.SIGTERM, log, text=text) as watchdog:
        try:
            failed = watchdog.wait(max(end - time.monotonic(), 0))
        except subprocess.TimeoutExpired as error:
            raise OperatorError(f"{name} did not end in time (log: {log})") from error
    if failed:
        raise OperatorError(f"{name} failed: {reason(log)}")
