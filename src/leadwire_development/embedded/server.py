"""One supervised server: started below a watchdog, restarted when it dies, stopped by closing a pipe."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from leadwire.infrastructure.errors import OperatorError
from leadwire_development.embedded import watchdog
from leadwire_development.embedded.directories import clean_environment, server_user

_START_LIMIT: Final = 300.0  # seconds: PostgreSQL may have much to recover
_HOPELESS: Final = 3  # deaths in a row of a server that was never ready
_PASSING: Final = "still in use"  # the shared memory of a PostgreSQL whose last child is just ending
_PAUSE: Final = 0.2  # seconds before a restart, times the deaths in a row
_LONGEST_PAUSE: Final = 5.0
_SETTLED: Final = 10.0  # seconds after which a death is the first of a row

_REASON: Final = re.compile(r"FATAL|PANIC|ERROR:|rror: |# (?!WARNING)|could not|[Cc]an't")
_STARTING: Final = re.compile(r"database system is|recovery mode")  # what PostgreSQL tells those who come too early
_PREFIX: Final = re.compile(r"^.*?(?:FATAL|PANIC|ERROR): +|^\d+:\w .*? # ")
_LONGEST_REASON: Final = 300

_NOBODYS_PID: Final = "99999999"  # above what any system hands out
_POLITE: Final = 10.0  # seconds
_FORCED: Final = 5.0


class Plan(NamedTuple):
    """How to run one kind of server."""

    name: str
    argv: list[str]  # holds `data` as an argument, by which a stale server is known
    data: Path
    stop_signal: signal.Signals
    pid_file: Path
    socket: Path
    log: Path
    is_ready: Callable[[socket.socket], bool]  # may raise OperatorError: it will never be


class Server(threading.Thread):
    """Keeps the server of a plan running until it is asked to stop."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(name=plan.name, daemon=True)
        self._plan = plan
        self._stopping = threading.Event()
        self._watchdog: subprocess.Popen[bytes] | None = None
        self._trouble = ""
        self._gave_up = False
        self._was_ready = False
        begin(plan.log)
        self.start()

    def run(self) -> None:
        """The supervisor's thread. One that was ready once is never given up."""
        deaths = 0
        while not self._stopping.is_set():
            began = time.monotonic()
            try:
                stop_stale(self._plan.pid_file, self._plan.data, self._plan.stop_signal)
                self._live()
                self._trouble = ""
            except OSError as error:
                self._trouble = f"{error.strerror}: {error.filename}"
            deaths = deaths + 1 if time.monotonic() - began < _SETTLED else 1
            if deaths >= _HOPELESS and not self._was_ready and _PASSING not in reason(self._plan.log):
                break
            self._stopping.wait(min(_PAUSE * deaths, _LONGEST_PAUSE))
        self._gave_up = True

    def wait_ready(self, seconds: float = _START_LIMIT) -> None:
        """Return once the server answers. Raises OperatorError with what its log says when it does not start."""
        end = time.monotonic() + seconds
        while not self._answers():
            if self._gave_up or time.monotonic() > end:
                raise OperatorError(f"{self.name} does not start: {self._trouble or reason(self._plan.log)}")
            time.sleep(0.01)
        self._was_ready = True

    def ask_to_stop(self) -> None:
        """Begin a clean stop; join the thread to see its end."""
        self._stopping.set()
        if self._watchdog and self._watchdog.stdin:
            self._watchdog.stdin.close()
        if not self._was_ready:
            # It has nothing to save, and PostgreSQL forgets a polite request that comes while it recovers from a crash.
            pid = self.pid()
            with contextlib.suppress(OSError):
                if pid and runs_on(pid, self._plan.data):
                    os.kill(pid, signal.SIGQUIT)

    def pid(self) -> int:
        """The server's process, 0 when it has none."""
        return pid_in(self._plan.pid_file)

    def kill(self, number: signal.Signals = signal.SIGKILL) -> None:
        """For crash tests: the supervisor brings it back. Raises ProcessLookupError when there is none."""
        if not (pid := self.pid()):
            raise ProcessLookupError(f"{self.name} has no process")  # pid 0 would be our own group
        os.kill(pid, number)

    def watchdog_pid(self) -> int:
        """For crash tests: the watchdog's process."""
        return self._watchdog.pid if self._watchdog else 0

    def _live(self) -> None:
        """One life of the server."""
        with launch(self._plan.argv, self._plan.stop_signal, self._plan.log) as self._watchdog:
            if self._stopping.is_set() and self._watchdog.stdin:
                self._watchdog.stdin.close()  # asked to stop while we were starting
            self._watchdog.wait()

    def _answers(self) -> bool:
        if self._watchdog is None:  # what answers now is an earlier server, about to be stopped
            return False
        try:
            return answers(self._plan.socket, self._plan.is_ready)
        except OperatorError as error:
            raise OperatorError(f"{self.name} does not start: {error} (log: {self._plan.log})") from error


def answers(path: Path, is_ready: Callable[[socket.socket], bool]) -> bool:
    """Whether a ready server listens at `path`."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as client:
        client.settimeout(1)
        client.connect(str(path))
        return is_ready(client)
    return False


def launch(command: Sequence[str], stop: signal.Signals, log: Path, *, text: str = "") -> subprocess.Popen[bytes]:
    """The watchdog of `command`, which runs as the servers' user and writes to `log`. Close its stdin to stop both."""
    user = server_user()
    uid, gid = (user.pw_uid, user.pw_gid) if user else (0, 0)
    output = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        return subprocess.Popen(
            [sys.executable, "-IS", watchdog.__file__, str(int(stop)), str(uid), str(gid), text, *command],
            stdin=subprocess.PIPE, stdout=output, stderr=output, env=clean_environment(), cwd=log.parent, umask=0o077,
            start_new_session=True,  # Ctrl-C must reach the application first, not its servers
        )  # fmt: skip
    finally:
        os.close(output)


def begin(log: Path) -> None:
    """A new log for a new start; the one before it is kept beside it."""
    if log.exists():
        log.replace(log.with_name(f"{log.name}.old"))


def reason(log: Path) -> str:
    """The last line of `log` that says why, and where the log is."""
    lines: list[str] = []
    with contextlib.suppress(OSError):
        lines = [line.strip() for line in log.read_text(errors="replace").splitlines()[-60:] if line.strip()]
    reasons = [line for line in lines if _REASON.search(line) and not _STARTING.search(line)]
    chosen = (reasons or lines or ["no reason given"])[-1]
    return f"{_PREFIX.sub('', chosen)[:_LONGEST_REASON]} (log: {log})"


def pid_in(pid_file: Path) -> int:
    """The process that the file names, 0 when it names none."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        pid = int(pid_file.read_text().split()[0])
        return pid if pid > 1 and pid != int(_NOBODYS_PID) else 0
    return 0


def stop_stale(pid_file: Path, data: Path, polite: signal.Signals) -> None:
    """Stop the server that still runs on `data`; disarm a pid file that names anybody else.

    In a container pids come again, and PostgreSQL refuses to start while the named process lives. Only the pid is
    replaced: the rest of the file is PostgreSQL's guard of its shared memory.
    """
    for number, limit in ((polite, _POLITE), (signal.SIGKILL, _FORCED)):
        pid = pid_in(pid_file)
        if not pid:
            return
        if not runs_on(pid, data):
            text = pid_file.read_text()
            pid_file.write_text(text.replace(str(pid), _NOBODYS_PID, 1))
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
        end = time.monotonic() + limit
        while runs_on(pid, data) and time.monotonic() < end:
            time.sleep(0.02)


def runs_on(pid: int, data: Path) -> bool:
    """Whether the process is a server that was started with this data directory as an argument of its own."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            return os.fsencode(data) in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        return False
    said = subprocess.run(["ps", "-p", str(pid), "-o", "command="], capture_output=True, check=False).stdout
    return os.fsencode(data) in said
