"""Work on a customer's text in a process of its own, which ends itself where that takes too long: no thread can be
ended. It has no secrets and no connections, and ends with its parent.
"""

import atexit
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any, Final, ParamSpec, TypeVar

from leadwire.infrastructure.errors import Invalid

P = ParamSpec("P")
T = TypeVar("T")

LIMIT: Final = 5.0
"""Seconds of CPU for one piece of work."""
_SERVE: Final = "from leadwire.infrastructure.apart import serve; serve()"

_turn: Final = threading.Lock()  # a request that is cancelled leaves its thread behind
_at_work: Final[list[tuple[subprocess.Popen[bytes], Any]]] = []  # the process, and our end of the pipe to it


class TooHeavy(Invalid, code="too_heavy", detail="This text takes too long to read. Make it shorter or simpler."):
    """A text that takes longer than any has to."""


def call(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return what `work` returns; one call at a time. Raise what it raises, and TooHeavy."""
    with _turn:
        if not _at_work:
            _at_work.append(_started())
        _, pipe = _at_work[0]
        try:
            pipe.send((LIMIT, work, args, kwargs))
            good, answer = pipe.recv()
        except (EOFError, OSError) as error:
            end()
            raise TooHeavy from error
    if not good:
        raise answer
    result: T = answer
    return result


@atexit.register
def end() -> None:
    """End the process, where there is one; the next call starts another."""
    while _at_work:
        process, pipe = _at_work.pop()
        pipe.close()
        process.wait()


def _started() -> tuple[subprocess.Popen[bytes], Any]:
    ours, theirs = Pipe()
    environment = {"PATH": os.environ.get("PATH", ""), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with theirs:
        end = theirs.fileno()
        command = [sys.executable, "-P", "-c", _SERVE, str(end)]
        # In a session of its own: Ctrl-C is the parent's.
        process = subprocess.Popen(command, env=environment, pass_fds=[end], start_new_session=True)
    return process, ours


def serve() -> None:
    """Work until the parent has no more, or one piece of work takes too long: the timer's signal ends the process."""
    with Connection(int(sys.argv[1])) as pipe:
        while True:
            try:
                limit, work, args, kwargs = pipe.recv()
            except EOFError:
                return
            signal.setitimer(signal.ITIMER_PROF, limit)
            try:
                answer = True, work(*args, **kwargs)
            except Exception as error:  # noqa: BLE001 - the caller's, whatever it is
                answer = False, error
            signal.setitimer(signal.ITIMER_PROF, 0)
            pipe.send(answer)
