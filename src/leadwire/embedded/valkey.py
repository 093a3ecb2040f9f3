"""The embedded Valkey, or a Redis from PATH. Appends every write to its log, so that a restart loses nothing."""

import signal
import socket
from pathlib import Path

from leadwire.embedded.account import private
from leadwire.embedded.binaries import runnable
from leadwire.embedded.server import Plan, Server


def start(state: Path, run: Path, *, durable: bool) -> tuple[str, Server]:
    """Start it, its socket in `run`. Answers its address and the server; wait until it is ready."""
    binary = runnable("redis", state)
    kind = binary.path.name.removesuffix("-server")
    data = private(state / f"{kind}-{binary.version[0]}")  # Valkey 9 and Redis 8 cannot read each other's files
    path = run / "redis.sock"
    chosen = {
        "port": "0",
        "unixsocket": str(path),
        "unixsocketperm": "700",
        "dir": str(data),
        "pidfile": str(data / "server.pid"),
        "daemonize": "no",
        "save": "",
        "appendonly": "yes",
        "appendfsync": "everysec" if durable else "no",
        "maxmemory-policy": "noeviction",
    }
    plan = Plan(
        name="Valkey",
        argv=[str(binary.path), *(part for name, value in chosen.items() for part in (f"--{name}", value))],
        stop_signal=signal.SIGTERM,
        pid_file=data / "server.pid",
        socket=path,
        log=state / "valkey.log",
        is_ready=_is_ready,
    )
    return f"unix://{path}?db=0", Server(plan)


def _is_ready(_: Plan, client: socket.socket) -> bool:
    client.sendall(b"PING\r\n")
    return client.recv(16).startswith(b"+PONG")  # -LOADING while the log is read
