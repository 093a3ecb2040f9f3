"""What an earlier start left behind: a server that outlived its guard, or a pid file that now names a stranger."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

_NOBODYS_PID: Final = "99999999"  # above what any system hands out
_POLITE: Final = 10.0  # seconds
_FORCED: Final = 5.0


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
