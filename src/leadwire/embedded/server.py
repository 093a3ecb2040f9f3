"""One supervised server: started below a guard, restarted when it dies, stopped by closing a pipe."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from leadwire.embedded.account import SERVER_USER, clean_environment
from leadwire.errors import OperatorError

# The guard holds the server. When its standard input ends, its owner is gone, even by SIGKILL, and it stops the
# server. Needs no prctl, so it works on macOS too.
_GUARD: Final = """
import os, subprocess, sys, threading
number, uid, gid = map(int, sys.argv[1:4])
dropped = dict(user=uid, group=gid, extra_groups=[]) if uid else {}
server = subprocess.Popen(sys.argv[4:], stdin=subprocess.DEVNULL, **dropped)
def owner_gone():
    while os.read(0, 1): pass
    server.send_signal(number)
threading.Thread(target=owner_gone, daemon=True).start()
os._exit(server.wait() & 255)"""

_HOPELESS: Final = 3  # deaths in a row without ever having been ready
_RESTART_PAUSE: Final = 0.2  # seconds, times the deaths
_START_LIMIT: Final = 60.0


class Plan(NamedTuple):
    """How to run one kind of server."""

    name: str
    argv: list[str]
    stop_signal: signal.Signals
    pid_file: Path
    socket: Path
    log: Path
    is_ready: Callable[["Plan", socket.socket], bool]


class Server(threading.Thread):
    """Keeps the server of a plan running until it is asked to stop."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(name=plan.name, daemon=True)
        self._plan = plan
        self._stopping = threading.Event()
        self._guard: subprocess.Popen[bytes] | None = None
        self._gave_up = False
        self._was_ready = False
        self.start()

    def run(self) -> None:
        """The supervisor's thread."""
        deaths = 0
        while not self._stopping.is_set():
            self._stop_stale()
            self._start()
            assert self._guard is not None  # noqa: S101 - just started
            self._guard.wait()
            deaths = 1 if self._was_ready else deaths + 1
            if deaths >= _HOPELESS:
                break
            self._was_ready = False
            self._stopping.wait(_RESTART_PAUSE * deaths)
        self._gave_up = True

    def wait_ready(self) -> None:
        """Return once the server answers. Raises OperatorError with the end of its log when it does not start."""
        end = time.monotonic() + _START_LIMIT
        while not self._answers():
            if self._gave_up or time.monotonic() > end:
                raise OperatorError(f"{self.name} does not start: {self._last_words()}")
            time.sleep(0.01)
        self._was_ready = True

    def ask_to_stop(self) -> None:
        """Begin a clean stop; join the thread to see its end."""
        self._stopping.set()
        if self._guard and self._guard.stdin:
            self._guard.stdin.close()

    def pid(self) -> int:
        """The server's process, 0 when it has none."""
        with contextlib.suppress(OSError, ValueError, IndexError):
            return int(self._plan.pid_file.read_text().split()[0])
        return 0

    def kill(self, number: signal.Signals = signal.SIGKILL) -> None:
        """For crash tests: the supervisor brings it back."""
        os.kill(self.pid(), number)

    def guard_pid(self) -> int:
        """For crash tests: the guard's process."""
        return self._guard.pid if self._guard else 0

    def _start(self) -> None:
        uid, gid = (SERVER_USER.pw_uid, SERVER_USER.pw_gid) if SERVER_USER else (0, 0)
        arguments = [str(int(self._plan.stop_signal)), str(uid), str(gid), *self._plan.argv]
        with self._plan.log.open("ab") as log:
            self._guard = subprocess.Popen(
                [sys.executable, "-ISc", _GUARD, *arguments],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env=clean_environment(),
                cwd=self._plan.log.parent,
                start_new_session=True,  # Ctrl-C must reach the application first, not its servers
            )
        if self._stopping.is_set() and self._guard.stdin:
            self._guard.stdin.close()  # asked to stop while we were starting

    def _answers(self) -> bool:
        with contextlib.suppress(OSError, IndexError), socket.socket(socket.AF_UNIX) as client:
            client.settimeout(1)
            client.connect(str(self._plan.socket))
            return self._plan.is_ready(self._plan, client)
        return False

    def _stop_stale(self) -> None:
        """Stop a server of ours that outlived its guard; disarm a pid file that names a stranger.

        In a container pids come again, and PostgreSQL refuses to start while the named process lives. Only the pid
        is replaced: the rest of the file is PostgreSQL's guard of its shared memory.
        """
        for number, limit in ((self._plan.stop_signal, 10.0), (signal.SIGKILL, 5.0)):
            pid = self.pid()
            if not pid:
                return
            if str(self._plan.socket.parent) not in _command_line(pid):
                text = self._plan.pid_file.read_text()
                self._plan.pid_file.write_text(text.replace(str(pid), "99999999", 1))
                return
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
                end = time.monotonic() + limit
                while time.monotonic() < end:
                    os.kill(pid, 0)
                    time.sleep(0.02)

    def _last_words(self) -> str:
        """The last line of its log that says why."""
        with contextlib.suppress(OSError):
            lines = [line.strip() for line in self._plan.log.read_text(errors="replace").splitlines() if line.strip()]
            telling = [line for line in lines[-40:] if any(word in line for word in ("FATAL", "PANIC", "rror", "# "))]
            if telling or lines:
                return f"{(telling or lines)[-1][-300:]} (log: {self._plan.log})"
        return f"see {self._plan.log}"


def _command_line(pid: int) -> str:
    """What a process was started with; an empty text when there is none."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            return Path(f"/proc/{pid}/cmdline").read_text()
        return ""
    return subprocess.run(["ps", "-p", str(pid), "-o", "command="], capture_output=True, text=True, check=False).stdout
