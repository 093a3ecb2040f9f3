"""Log lines are written to standard error by a thread, so that no request waits for their reader.

The lines wait in a queue with a bound. When it is full because nobody reads, further lines are dropped and counted.
"""

import logging
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from logging.handlers import QueueHandler
from queue import Empty, Queue
from typing import Final

from leadwire.infrastructure.telemetry.metrics import counter

DROPPED: Final = counter("log_lines_dropped", "Log lines that were not written, because nobody read standard error.")

_MOST: Final = 10_000  # lines that wait
_AT_ONCE: Final = 100  # lines of one write
_PATIENCE: Final = 2.0  # seconds to write the rest when the process ends
_STDERR: Final = 2  # not sys.stderr: a thread that hangs in its lock would break the end of the process


class QueuedLines(QueueHandler):
    """Formats a record where it is made, and leaves the writing to a thread."""

    queue: "Queue[str]"

    def __init__(self, form: Callable[[logging.LogRecord], str], *, most: int = _MOST, fd: int = _STDERR) -> None:
        super().__init__(Queue(most))
        self._form = form
        self._fd = fd
        threading.Thread(target=self._write, name="log", daemon=True).start()

    def prepare(self, record: logging.LogRecord) -> str:
        """The line: what it says of the request being handled is known only here."""
        return self._form(record)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: ARG002, N802 - logging's name
        """The queue is full, or the record cannot be formatted. Logging's own way is a blocking write to stderr."""
        DROPPED.inc()

    def flush(self) -> None:
        """Wait until everything is written, but not for long. Called by `logging` when the process ends."""
        with self.queue.all_tasks_done:
            self.queue.all_tasks_done.wait_for(lambda: not self.queue.unfinished_tasks, _PATIENCE)

    def _write(self) -> None:
        while True:
            lines = [self.queue.get()]
            with suppress(Empty):
                while len(lines) < _AT_ONCE:
                    lines.append(self.queue.get_nowait())
            rest = "".join(f"{line}\n" for line in lines).encode(errors="replace")
            try:
                while rest:
                    rest = rest[os.write(self._fd, rest) :]
            except OSError:  # the reader is gone, or the disk is full
                DROPPED.inc(len(lines))
            for _ in lines:
                self.queue.task_done()
