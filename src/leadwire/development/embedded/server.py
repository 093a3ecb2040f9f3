"""One supervised server: started below a guard, restarted when it dies, stopped by closing a pipe."""

import contextlib
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from leadwire.development.embedded.launch import launch
from leadwire.development.embedded.logs import begin, reason
from leadwire.development.embedded.stale import pid_in, runs_on, stop_stale
from leadwire.infrastructure.errors import OperatorError

_START_LIMIT: Final = 50.0  # seconds
_HOPELESS: Final = 3  # deaths in a row of a server that was never ready
_PASSING: Final = "still in use"  # the shared memory of a PostgreSQL whose last child is just ending
_PAUSE: Final = 0.2  # seconds before a restart, times the deaths in a row
_LONGEST_PAUSE: Final = 5.0
_SETTLED: Final = 10.0  # seconds after which a death is the first of a row


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
        self._guard: subprocess.Popen[bytes] | None = None
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
        if self._guard and self._guard.stdin:
            self._guard.stdin.close()
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

    def guard_pid(self) -> int:
        """For crash tests: the guard's process."""
        return self._guard.pid if self._guard else 0

    def _live(self) -> None:
        """One life of the server."""
        self._guard = launch(self._plan.argv, self._plan.stop_signal, self._plan.log)
        if self._stopping.is_set() and self._guard.stdin:
            self._guard.stdin.close()  # asked to stop while we were starting
        self._guard.wait()
        if self._guard.stdin:
            self._guard.stdin.close()

    def _answers(self) -> bool:
        if self._guard is None:  # what answers now is an earlier server, about to be stopped
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
