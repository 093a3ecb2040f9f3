"""The servers under test: their environment, their start, their end."""

import contextlib
import http.client
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple

from ops.bench.api.data import Data

_HERE = Path(__file__).resolve().parent
_ROOT = _HERE.parents[2]
POOL = 10
_PATIENCE = 180  # seconds: a dozen servers start on one core
_LIMIT = 100_000_000  # requests a minute: limits are on, and never reached


class Program(NamedTuple):
    """A server's command line, which ends with its port."""

    command: list[str]
    folder: Path = _ROOT


class Running(NamedTuple):
    """A server that answers."""

    name: str
    pid: int
    port: int


def leadwire(module: str = "leadwire", *arguments: str) -> Program:
    """Ours, or `module` that becomes it."""
    return Program([sys.executable, "-m", module, *arguments, "serve", "--host", "127.0.0.1", "--port"])


def fastapi(python: Path) -> Program:
    """The one beside it."""
    options = ["--no-access-log", "--log-level", "warning", "--loop", "uvloop", "--http", "httptools"]
    command = [str(python), "-m", "uvicorn", "app:app", "--host", "127.0.0.1", *options, "--port"]
    return Program(command, _HERE / "fastapi_app")


@contextlib.contextmanager
def running(
    programs: Mapping[str, Program], urls: tuple[str, str], data: Data, core: int, port: int
) -> Iterator[list[Running]]:
    """All of them, pinned to `core`, on ports from `port` on, in their order."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("LEADWIRE_")} | {
        "LEADWIRE_DATABASE_URL": urls[0],
        "LEADWIRE_REDIS_URL": urls[1],
        "LEADWIRE_RATE_LIMIT": str(_LIMIT),
        "LEADWIRE_POOL_SIZE": str(POOL),
        "BASELINE_POOL_SIZE": str(POOL),
        "BASELINE_KEY": data.key,
        "BASELINE_WORKSPACE": data.workspace,
    }
    started: list[subprocess.Popen[bytes]] = []
    mine = os.sched_getaffinity(0)
    log = tempfile.TemporaryFile()  # noqa: SIM115 - not a pipe: a server that logs must not wait for us
    try:
        os.sched_setaffinity(0, {core})
        for place, program in enumerate(programs.values()):
            command = [*program.command, str(port + place)]
            started.append(subprocess.Popen(command, cwd=program.folder, env=environ, stderr=log))
        os.sched_setaffinity(0, mine)
        ports = range(port, port + len(started))
        found = [Running(name, one.pid, at) for name, one, at in zip(programs, started, ports, strict=True)]
        for server, process in zip(found, started, strict=True):
            _wait(server, process, data, log)
        yield found
    finally:
        os.sched_setaffinity(0, mine)
        for process in started:
            process.terminate()
        for process in started:
            process.wait(20)
        log.close()


def _wait(server: Running, process: subprocess.Popen[bytes], data: Data, log: IO[bytes]) -> None:
    end = time.monotonic() + _PATIENCE
    while True:
        if process.poll() is not None or time.monotonic() > end:
            why = f"has not started in {_PATIENCE} s" if process.poll() is None else "does not start"
            process.kill()
            log.seek(0)
            raise SystemExit(f"{server.name} {why}:\n{log.read().decode(errors='replace')[-2000:]}")
        with contextlib.suppress(OSError):
            status, _ = call(server.port, data.key, "GET", "/v1/leads?limit=1")
            if status == 200:
                return
        time.sleep(0.1)


def call(port: int, key: str, method: str, path: str, body: str | None = None) -> tuple[int, bytes]:
    """One request on a connection of its own."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    headers: dict[str, Any] = {"Authorization": f"Bearer {key}"} | (
        {"Content-Type": "application/json"} if body else {}
    )
    try:
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()
