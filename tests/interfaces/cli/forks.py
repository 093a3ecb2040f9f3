"""`leadwire` as a process of its own, by the hundred: forked from one that has imported everything already.

    with Forks() as forks:
        forks.run("status", DATABASE_URL=...)

A fork has its own environment, directories for its output and exit code, as `tests.flows.commands.run` gives; it only
saves the second of imports. What imports cost, and that they work, other tests see.
"""

import contextlib
import importlib
import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Self

from tests.flows.commands import environment
from tests.waiting import until


class Forks:
    """The process that forks."""

    def __enter__(self) -> Self:
        self._place = tempfile.TemporaryDirectory(prefix="leadwire-forks-")
        self._address = str(Path(self._place.name) / "socket")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.interfaces.cli.forks", self._address], env=environment()
        )
        until(Path(self._address).exists)
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()
        self._place.cleanup()

    def run(self, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
        """One command, run to its end."""
        with tempfile.TemporaryDirectory() as place, socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(60)
            connection.connect(self._address)
            asked = {"arguments": arguments, "environment": environment(**settings), "place": place}
            connection.sendall(json.dumps(asked).encode() + b"\n")
            code = int(connection.makefile().read())
            out, err = ((Path(place) / name).read_text() for name in ("out", "err"))
        return subprocess.CompletedProcess(arguments, code, out, err)


def _serve(address: str) -> None:
    import click

    from leadwire.__main__ import cli, main

    processes = (f"leadwire.processes.{name}" for name in ("serve", "relay", "deliver", "background"))
    for module in ("leadwire.infrastructure.db.migrations", *processes):
        importlib.import_module(module)
    for name in cli.list_commands(context := click.Context(cli)):
        cli.get_command(context, name)
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(f"{address}.new")
    listening.listen(64)
    Path(f"{address}.new").rename(address)
    while True:
        connection, _ = listening.accept()
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        if os.fork() == 0:
            listening.close()
            asked = json.loads(connection.makefile().readline())
            _become(asked["environment"], Path(asked["place"]))
            code = 70
            try:
                main(*asked["arguments"])
            except SystemExit as ended:
                code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
            except BaseException:  # noqa: BLE001 - what Python would do with it
                sys.excepthook(*sys.exc_info())  # type: ignore[arg-type]
                code = 1
            sys.stdout.flush()
            sys.stderr.flush()
            connection.sendall(str(code).encode())
            os._exit(0)
        connection.close()


def _become(environment: dict[str, str], place: Path) -> None:
    os.environ.clear()
    os.environ.update(environment)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for name, number in (("out", 1), ("err", 2)):
        os.dup2(os.open(place / name, os.O_WRONLY | os.O_CREAT), number)


if __name__ == "__main__":
    _serve(sys.argv[1])
