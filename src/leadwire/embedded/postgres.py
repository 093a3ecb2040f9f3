"""The embedded PostgreSQL: a cluster made once beside its place and renamed, so that a half-made one is never used."""

import shutil
import signal
import socket
import subprocess
from pathlib import Path
from typing import Final

from leadwire.embedded.account import check_account, clean_environment, dropped, private
from leadwire.embedded.binaries import Binary, runnable
from leadwire.embedded.server import Plan, Server
from leadwire.errors import OperatorError

_DATABASE: Final = "leadwire"
_READY_LINE: Final = 7  # of postmaster.pid
_SETTINGS: Final = {
    "listen_addresses": "",
    "port": "5432",  # names the socket, nothing else
    "unix_socket_permissions": "0700",
    "timezone": "UTC",
    "jit": "off",
    "max_connections": "200",
    "shared_buffers": "128MB",
}
_NOT_DURABLE: Final = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


def start(state: Path, run: Path, *, durable: bool) -> tuple[str, Server]:
    """Start it, sockets in `run`. Answers its address and the server; wait until it is ready."""
    check_account()
    binary = runnable("postgres", state)
    data = state / f"postgres-{binary.version[0]}"  # per major: another one cannot read it
    if not data.exists():
        _create(binary, data)
    version = data / "PG_VERSION"
    if not version.exists() or version.read_text().strip() != str(binary.version[0]):
        raise OperatorError(f"{data} is not a PostgreSQL {binary.version[0]} data directory: PG_VERSION is damaged")
    chosen = _SETTINGS | {"unix_socket_directories": str(run)} | ({} if durable else _NOT_DURABLE)
    arguments = [part for name, value in chosen.items() for part in ("-c", f"{name}={value}")]
    plan = Plan(
        name="PostgreSQL",
        argv=[str(binary.path), "-D", str(data), *arguments],
        stop_signal=signal.SIGINT,  # fast shutdown
        pid_file=data / "postmaster.pid",
        socket=run / ".s.PGSQL.5432",
        log=state / "postgres.log",
        is_ready=_is_ready,
    )
    return f"postgresql://postgres@/{_DATABASE}?host={run}", Server(plan)


def _is_ready(plan: Plan, _: socket.socket) -> bool:
    return plan.pid_file.read_text().splitlines()[_READY_LINE].strip() == "ready"


def _create(binary: Binary, data: Path) -> None:
    draft = data.with_name(f"{data.name}.init")
    shutil.rmtree(draft, ignore_errors=True)
    private(draft)
    initdb = [str(binary.path.with_name("initdb")), "-D", str(draft), "-U", "postgres", "-E", "UTF8", "--no-locale"]
    _do([*initdb, "-A", "trust", "--no-sync"], None)
    _do([str(binary.path), "--single", "-D", str(draft), "postgres"], f"CREATE DATABASE {_DATABASE}\n")
    draft.rename(data)


def _do(command: list[str], text: str | None) -> None:
    result = subprocess.run(
        command, input=text, env=clean_environment(), cwd="/", capture_output=True, text=True, check=False, **dropped()
    )
    if result.returncode:
        said = (result.stderr or result.stdout).strip().splitlines() or ["no reason given"]
        raise OperatorError(f"{Path(command[0]).name} failed: {said[-1]}")
