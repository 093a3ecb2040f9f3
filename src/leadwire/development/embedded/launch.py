"""Starting a command below a guard, so that it cannot outlive us."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from leadwire.development.embedded import guard
from leadwire.development.embedded.account import clean_environment, server_user


def launch(command: Sequence[str], stop: signal.Signals, log: Path, *, text: str = "") -> subprocess.Popen[bytes]:
    """The guard of `command`, which runs as the servers' user and writes to `log`. Close its stdin to stop both."""
    user = server_user()
    uid, gid = (user.pw_uid, user.pw_gid) if user else (0, 0)
    output = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        return subprocess.Popen(
            [sys.executable, "-IS", guard.__file__, str(int(stop)), str(uid), str(gid), text, *command],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            env=clean_environment(),
            cwd=log.parent,
            umask=0o077,
            start_new_session=True,  # Ctrl-C must reach the application first, not its servers
        )
    finally:
        os.close(output)
