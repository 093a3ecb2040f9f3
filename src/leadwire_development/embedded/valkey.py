"""The embedded Valkey, or a Redis from PATH. Appends every write to its log, so that a restart loses nothing."""

import signal
import socket
from pathlib import Path
from typing import Final

from leadwire_development.embedded.binaries import runnable
from leadwire_development.embedded.directories import private
from leadwire_development.embedded.server import Plan, Server

SOCKET: Final = "redis.sock"


def start(state: Path, run: Path, *, durable: bool) -> tuple[str, Server]:
    """Start it, its socket in `run`. Answers its address and the server; wait until it is ready."""
    binary = runnable("redis", state)
    kind = binary.path.name.removesuffix("-server")
    data = private(state / f"{kind}-{binary.version[0]}")  # Valkey 9 and Redis 8 cannot read each other's files
    chosen = {
        "port": "0",
        "unixsocket": str(run / SOCKET),
        "unixsocketperm": "700",
        "dir": str(data),
        "pidfile": str(data / "server.pid"),
        "set-proc-title": "no",  # a stale server is known by its arguments
        "daemonize": "no",
        "save": "",
        "appendonly": "yes",
        "appendfsync": "everysec" if durable else "no",
        "maxmemory-policy": "noeviction",
    }
    plan = Plan(
        name="Valkey",
        argv=[str(binary.path), *(part for name, value in chosen.items() for part in (f"--{name}", value))],
        data=data, stop_signal=signal.SIGTERM, pid_file=data / "server.pid", socket=run / SOCKET,
        log=state / "valkey.log", is_ready=is_ready,
    )  # fmt: skip
    return f"unix://{run / SOCKET}?db=0", Server(plan)


def is_ready(client: socket.socket) -> bool:
    """Whether the server behind `client` serves: it says -LOADING while its log is read."""
    client.sendall(b"PING\r\n")
    return client.recv(16).startswith(b"+PONG")
