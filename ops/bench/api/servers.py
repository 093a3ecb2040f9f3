"""The two servers under test: their environment, their start, their CPU time."""

import contextlib
import http.client
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from ops.bench.api.data import Data

_HERE = Path(__file__).resolve().parent
_ROOT = _HERE.parents[2]
_VENV = _HERE.parent / ".venv-baseline"
_TICKS = os.sysconf("SC_CLK_TCK")
POOL = 10
# Driver and server as in our own environment; what is compared is what lies between them.
_SHARED = ("asyncpg", "uvicorn", "uvloop", "httptools")
_NEEDED = ["fastapi>=0.120,<1", "sqlalchemy[asyncio]>=2.0,<3", *(f"{name}=={version(name)}" for name in _SHARED)]


class Running(NamedTuple):
    """A server that answers."""

    name: str
    pid: int
    port: int


def baseline_python() -> Path:
    """The interpreter of the baseline's own environment, made on first use."""
    python, mark = _VENV / "bin" / "python", _VENV / "made-of.txt"
    wanted = "\n".join([sys.version, *_NEEDED])
    if not (mark.exists() and mark.read_text() == wanted):
        print("making the environment of the FastAPI app ...", file=sys.stderr)
        subprocess.run(["uv", "venv", "-q", "--clear", "--python", sys.executable, str(_VENV)], check=True)
        subprocess.run(["uv", "pip", "install", "-q", "--python", str(python), *_NEEDED], check=True)
        mark.write_text(wanted)
    return python


def baseline_versions(python: Path) -> str:
    names = ("fastapi", "sqlalchemy", "pydantic")
    script = f"from importlib.metadata import version; print(*(f'{{n}} {{version(n)}}' for n in {names}), sep=', ')"
    return subprocess.run([str(python), "-c", script], check=True, capture_output=True, text=True).stdout.strip()


@contextlib.contextmanager
def both(python: Path, urls: tuple[str, str], data: Data, core: int, port: int) -> Iterator[list[Running]]:
    """Start them, pinned to `core`; ours is the first."""
    database, redis = urls
    host = ["--host", "127.0.0.1", "--port"]
    options = ["--no-access-log", "--log-level", "warning", "--loop", "uvloop", "--http", "httptools"]
    commands = {
        "leadwire": [sys.executable, "-m", "leadwire", "serve", *host, str(port)],
        "fastapi": [str(python), "-m", "uvicorn", "app:app", *host, str(port + 1), *options],
    }
    environ = {name: value for name, value in os.environ.items() if not name.startswith("LEADWIRE_")} | {
        "LEADWIRE_DATABASE_URL": database,
        "LEADWIRE_REDIS_URL": redis,
        "LEADWIRE_RATE_LIMIT": "100000000",
        "LEADWIRE_POOL_SIZE": str(POOL),
        "BASELINE_POOL_SIZE": str(POOL),
        "BASELINE_KEY": data.key,
        "BASELINE_WORKSPACE": data.workspace,
    }
    started: dict[str, subprocess.Popen[bytes]] = {}
    mine = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {core})
        for name, command in commands.items():
            cwd = _ROOT if name == "leadwire" else _HERE / "fastapi_app"
            started[name] = subprocess.Popen(command, cwd=cwd, env=environ, stderr=subprocess.PIPE)
        os.sched_setaffinity(0, mine)
        for place, (name, process) in enumerate(started.items()):
            _wait(name, process, port + place, data)
        yield [Running(name, process.pid, port + place) for place, (name, process) in enumerate(started.items())]
    finally:
        os.sched_setaffinity(0, mine)
        for process in started.values():
            process.terminate()
        for process in started.values():
            process.wait(20)


def _wait(name: str, process: subprocess.Popen[bytes], port: int, data: Data) -> None:
    end = time.monotonic() + 30
    while True:
        if process.poll() is not None or time.monotonic() > end:
            process.kill()
            said = process.stderr.read().decode(errors="replace")[-2000:] if process.stderr else ""
            raise SystemExit(f"{name} does not start:\n{said}")
        with contextlib.suppress(OSError):
            status, _ = call(port, data.key, "GET", "/v1/leads?limit=1")
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


def cpu(pid: int) -> float:
    """CPU seconds of a process and of its children that live."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        children = [
            int(child)
            for task in Path(f"/proc/{pid}/task").iterdir()
            for child in (task / "children").read_text().split()
        ]
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return (int(fields[11]) + int(fields[12])) / _TICKS + sum(cpu(child) for child in children)
