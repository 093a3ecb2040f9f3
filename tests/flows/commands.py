"""Leadwire as a person uses it: real processes with nothing but an environment, none of which outlives its test."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

from ops.chaos.journal import free_port

from leadwire_development.embedded import Services
from tests.forks import forks
from tests.waiting import eventually, until

COMMAND = (sys.executable, "-m", "leadwire")
_NO_UP = {"LEADWIRE_DATA_DIR": str(Path(tempfile.gettempdir()) / "leadwire-without-up")}


def environment(**settings: str) -> dict[str, str]:
    """Ours without Leadwire's settings, but for where the servers' binaries are, and with `settings`. An `up` that runs
    in this checkout is not found.
    """
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("LEADWIRE_") or name.startswith("LEADWIRE_EMBEDDED_")
    }
    return kept | _NO_UP | {f"LEADWIRE_{name}": value for name, value in settings.items()}


def run(*arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """One command, run to its end."""
    return forks().run(arguments, environment(**settings))


def refused(result: subprocess.CompletedProcess[str]) -> str:
    """The one line with which a command says why it cannot."""
    assert result.returncode not in (0, -signal.SIGKILL), result
    assert "Traceback" not in result.stdout + result.stderr
    lines = result.stderr.splitlines()
    assert len(lines) == 1, result.stderr
    return lines[0]


def mentioning(text: str) -> list[str]:
    """The command lines of the processes that name `text` in their arguments or in their environment."""
    found = []
    if not Path("/proc/self/environ").exists():
        listed = subprocess.run(["ps", "-axwwE", "-o", "command="], capture_output=True, text=True, check=True)
        return [line for line in listed.stdout.splitlines() if text in line and "ps -axwwE" not in line]
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            arguments = (process / "cmdline").read_bytes()
            known = arguments + b"\0" + (process / "environ").read_bytes()
            if process.name != str(os.getpid()) and os.fsencode(text) in known:
                found.append(f"{process.name} {arguments.replace(bytes(1), b' ').decode(errors='replace')}")
    return found


@contextlib.contextmanager
def data_directory() -> Iterator[Path]:
    """A directory of its own; whatever still runs on it afterwards is an error, and is ended."""
    directory = Path(tempfile.mkdtemp(prefix="leadwire-flow-"))
    directory.chmod(0o711)  # as root the servers run as `nobody`
    try:
        yield directory
        until(lambda: not mentioning(str(directory)))
    finally:
        for line in mentioning(str(directory)):
            with contextlib.suppress(ProcessLookupError, ValueError):
                os.kill(int(line.split()[0]), signal.SIGKILL)
        shutil.rmtree(directory, ignore_errors=True)


class Started:
    """A process in the background. What it writes goes to files, so that it never waits for us."""

    command = COMMAND

    def __init__(self, *arguments: str, **settings: str) -> None:
        self._directory = Path(tempfile.mkdtemp(prefix="leadwire-flow-output-"))
        with (self._directory / "out").open("wb") as out, (self._directory / "err").open("wb") as err:
            self.process = subprocess.Popen(
                [*self.command, *arguments],
                env=environment(**settings),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
            )

    @property
    def out(self) -> str:
        return self._lines("out")

    @property
    def err(self) -> str:
        """What it has logged so far. It is written by a thread: wait for a line, whatever else has been answered."""
        return self._lines("err")

    def logged(self, *events: str) -> list[dict[str, Any]]:
        """The lines of these events, or of all."""
        lines = [json.loads(line) for line in self.err.splitlines()]
        return [line for line in lines if not events or line["event"] in events]

    def _lines(self, name: str) -> str:
        """Whole lines: the last one may be half written while it runs."""
        running = self.running()
        text = (self._directory / name).read_text(errors="replace")
        return text[: text.rfind("\n") + 1] if running else text

    def running(self) -> bool:
        return self.process.poll() is None

    def signal(self, number: signal.Signals = signal.SIGTERM, seconds: float = 240) -> int:
        """Send it a signal and wait for the end; the exit code."""
        self.process.send_signal(number)
        return self.process.wait(seconds)

    def close(self) -> None:
        """The end, whatever it was doing."""
        if self.running():
            self.signal(signal.SIGKILL)
        shutil.rmtree(self._directory, ignore_errors=True)

    async def up(self) -> None:
        """Wait until it says that it has started."""
        await eventually(lambda: "process.started" in self.err or not self.running())
        assert self.running(), self.err


def settings_on(servers: Services, **more: str) -> dict[str, str]:
    """The settings of a process on these servers, whose receivers are here and whose retries come soon."""
    return {
        "DATABASE_URL": servers.database_url,
        "REDIS_URL": servers.redis_url,
        "SECRET_KEY": os.environ["LEADWIRE_SECRET_KEY"],
        "ALLOWED_NETWORKS": "127.0.0.0/8",
        "RETRY_SCHEDULE": "1,1,1",
        **more,
    }


@contextlib.asynccontextmanager
async def everything(kind: type[Started], settings: dict[str, str]) -> AsyncIterator[tuple[list[Started], str]]:
    """One process of each command, and the API's address."""
    port = free_port()
    commands = (("serve", "--port", str(port)), ("relay",), ("deliver",), ("background",))
    started = [kind(*command, **settings) for command in commands]
    try:
        for process in started:
            await process.up()
        yield started, f"http://127.0.0.1:{port}"
    finally:
        for process in started:
            process.close()


class Listener(Started):
    """`leadwire listen --json` on a port chosen before, because an endpoint wants its address first."""

    def __init__(self, port: int, secret: str, *options: str) -> None:
        super().__init__("listen", "--json", "--port", str(port), *options, LISTEN_SECRET=secret)
        until(lambda: "listening" in self.out or not self.running())
        assert self.running(), self.err

    def seen(self, subject: str | None = None) -> list[dict[str, Any]]:
        """What came so far, of one subject or of all."""
        found: list[dict[str, Any]] = [json.loads(line) for line in self.out.splitlines()[1:]]
        return [one for one in found if subject in (None, one["body"]["data"].get("id"))]
