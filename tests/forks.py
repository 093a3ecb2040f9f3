"""`leadwire` as a process of its own, by the hundred: forked from one that has imported everything already.

A fork has its own environment, directory, files for its output and exit code; it only saves the second of imports. What
imports cost, and that they work, other tests see: those that change PYTHONPATH start a process of their own.
"""

import atexit
import contextlib
import functools
import gc
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from tests.waiting import until

_LONGEST = 240  # seconds


class Forks:
    """The process that forks. It ends with us."""

    def __init__(self) -> None:
        self._place = tempfile.TemporaryDirectory(prefix="leadwire-forks-")
        self._address = str(Path(self._place.name) / "socket")
        without = {name: value for name, value in os.environ.items() if not name.startswith("LEADWIRE_")}
        command = [sys.executable, "-m", "tests.forks", self._address]
        self._process = subprocess.Popen(command, env=without, stdin=subprocess.PIPE, cwd=Path(__file__).parents[1])
        until(lambda: Path(self._address).exists() or self._process.poll() is not None)

    def close(self) -> None:
        """End it."""
        self._process.communicate()
        self._place.cleanup()

    def run(self, arguments: tuple[str, ...], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
        """One command in the present directory, run to its end."""
        with tempfile.TemporaryDirectory() as place, socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(_LONGEST)
            connection.connect(self._address)
            asked = {"arguments": arguments, "environment": environment, "directory": str(Path.cwd()), "place": place}
            connection.sendall(json.dumps(asked).encode() + b"\n")
            said = connection.makefile()
            process = int(said.readline())
            try:
                code = int(said.readline())
            except TimeoutError:  # a process that serves would act on what later tests do
                os.kill(process, signal.SIGKILL)
                raise
            out, err = ((Path(place) / name).read_text() for name in ("out", "err"))
        return subprocess.CompletedProcess(arguments, code, out, err)


_starting = threading.Lock()


def forks() -> Forks:
    """This process's own, started when it is first needed."""
    with _starting:
        return _started()


@functools.cache
def _started() -> Forks:
    started = Forks()
    atexit.register(started.close)
    return started


def _serve(address: str) -> None:
    import click

    from leadwire.__main__ import cli, main

    processes = (f"leadwire.processes.{name}" for name in ("serve", "relay", "deliver", "background"))
    for module in ("leadwire.infrastructure.db.migrations", *processes):
        importlib.import_module(module)
    for name in cli.list_commands(context := click.Context(cli)):
        cli.get_command(context, name)
    gc.freeze()  # what all have in common is not looked through when one of them ends: that took 0.3 s of CPU
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(f"{address}.new")
    listening.listen(64)
    Path(f"{address}.new").rename(address)
    while sys.stdin not in select.select([listening, sys.stdin], [], [])[0]:
        connection, _ = listening.accept()
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        if os.fork() == 0:
            asked = json.loads(connection.makefile().readline())
            if (child := os.fork()) == 0:
                listening.close()
                connection.close()
                _become(asked)
                main(*asked["arguments"])
                return
            connection.sendall(f"{child}\n".encode())
            connection.sendall(f"{os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}\n".encode())
            os._exit(0)
        connection.close()


def _become(asked: dict[str, object]) -> None:
    os.environ.clear()
    os.environ.update(asked["environment"])
    os.chdir(asked["directory"])
    sys.argv[1:] = asked["arguments"]
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for name, number in (("out", 1), ("err", 2)):
        os.dup2(os.open(Path(asked["place"]) / name, os.O_WRONLY | os.O_CREAT | os.O_APPEND), number)


if __name__ == "__main__":
    _serve(sys.argv[1])
