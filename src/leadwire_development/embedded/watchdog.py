"""The watchdog: a tiny process that holds one server and stops it when its own standard input ends.

That end comes however the owner goes, even by SIGKILL, and needs no prctl, so it works on macOS too. Run as a script
by `launch`, isolated: it must import nothing but the standard library.

    watchdog.py SIGNAL UID GID TEXT COMMAND...     UID 0: as ourselves; TEXT goes to the command's standard input
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any

_PATIENCE = 15.0  # seconds from the polite signal to SIGKILL; both servers recover from one


def main() -> None:
    """Run the command to its end; exit as it did."""
    number, uid, gid = (int(argument) for argument in sys.argv[1:4])
    text, command = sys.argv[4], sys.argv[5:]
    for caught in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(caught, lambda *_: None)  # whoever stops us like this leaves the server alone; the pipe decides
    dropped: dict[str, Any] = {"user": uid, "group": gid, "extra_groups": []} if uid else {}
    server = subprocess.Popen(command, stdin=subprocess.PIPE if text else subprocess.DEVNULL, **dropped)
    threading.Thread(target=_end_with_owner, args=(server, number), daemon=True).start()
    if server.stdin:
        with contextlib.suppress(OSError), server.stdin as given:
            given.write(text.encode())
    os._exit(server.wait() & 255)  # the other thread may still be reading


def _end_with_owner(server: subprocess.Popen[bytes], number: int) -> None:
    while os.read(0, 1):
        pass
    server.send_signal(number)
    time.sleep(_PATIENCE)
    server.kill()


if __name__ == "__main__":
    main()
