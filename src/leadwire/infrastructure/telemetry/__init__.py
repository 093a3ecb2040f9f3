"""Logs, and the trace that runs through a request, its outbox row, the stream and the POST to a receiver.

One wide line per unit of work, JSON by default: `event` says what (`delivery.attempted`), ids say of what. No personal
data: ids, counts, durations and the bounded enums only.
"""

import logging
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from logging.handlers import QueueHandler
from queue import Empty, Queue
from traceback import format_tb
from typing import Any, Final

import msgspec

from leadwire.infrastructure import clock
from leadwire.infrastructure.telemetry.metrics import counter

DROPPED: Final = counter("log_lines_dropped", "Log lines that were not written, because nobody read standard error.")

_MOST: Final = 10_000  # lines that wait
_AT_ONCE: Final = 100  # lines of one write
_PATIENCE: Final = 2.0  # seconds to write the rest when the process ends
_STDERR: Final = 2  # not sys.stderr: a thread that hangs in its lock would break the end of the process

_log = logging.getLogger("leadwire")


class _Request(msgspec.Struct):
    """What logs and traces say about the request being handled."""

    id: str
    traceparent: str | None
    workspace: str = ""
    event_ids: list[str] = []


_request: ContextVar[_Request | None] = ContextVar("request", default=None)


def begin(request_id: str, traceparent: str | None) -> None:
    """Begin a request, with its id and its caller's trace context (W3C Trace Context, level 1), if it sent one."""
    _request.set(_Request(request_id, traceparent))


def set_workspace(workspace: str) -> None:
    """Note the workspace of the request being handled."""
    if request := _request.get():
        request.workspace = workspace


def recorded(workspace: str, event_id: str) -> None:
    """Note an event that the request being handled has committed."""
    if request := _request.get():
        request.workspace = workspace
        request.event_ids.append(event_id)


def request_id() -> str:
    """The id of the request being handled, or an empty text."""
    request = _request.get()
    return request.id if request else ""


def traceparent() -> str | None:
    """The W3C trace context of the request being handled, to be handed on: its caller's, or one begun here.

    None outside a request.
    """
    request = _request.get()
    if request is None:
        return None
    if request.traceparent is None:
        random = os.urandom(24).hex()
        request.traceparent = f"00-{random[:32]}-{random[32:]}-00"
    return request.traceparent


def trace_id(traceparent: str | None) -> str | None:
    """Return the id of a trace: the second part of its context."""
    return traceparent[3:35] if traceparent else None


def enabled(level: int) -> bool:
    """Whether lines of this level are written: asked before much is put together for one."""
    return _log.isEnabledFor(level)


def log(event: str, *, level: int = logging.INFO, error: BaseException | None = None, **fields: Any) -> None:
    """Write one line about one unit of work."""
    if _log.isEnabledFor(level):
        _log.log(level, event, extra={"fields": fields}, exc_info=error)


def warn(event: str, *, error: BaseException | None = None, **fields: Any) -> None:
    """The same about what went wrong and is tried again, or done without."""
    log(event, level=logging.WARNING, error=error, **fields)


def fail(event: str, *, error: BaseException | None = None, **fields: Any) -> None:
    """The same about what somebody has to look at. With a traceback."""
    log(event, level=logging.ERROR, error=error, **fields)


def _of_request() -> dict[str, Any]:
    request = _request.get()
    if request is None:
        return {}
    ids = {"trace_id": trace_id(request.traceparent), "workspace_id": request.workspace, "event_ids": request.event_ids}
    return {"request_id": request.id, **{name: value for name, value in ids.items() if value}}


def _json(record: logging.LogRecord) -> str:
    line: dict[str, Any] = {
        "at": clock.iso(clock.now()),
        "level": record.levelname.lower(),
        "event": record.getMessage(),
        "process": os.getpid(),
        **_of_request(),
        **getattr(record, "fields", {}),
    }
    if record.exc_info and record.exc_info[1]:
        line["error"] = text_of(record.exc_info[1])
        if record.levelno >= logging.ERROR:
            line["trace"] = _trace(record.exc_info[1])
    return msgspec.json.encode(line, enc_hook=str).decode()


def _plain(record: logging.LogRecord) -> str:
    said = _of_request() | getattr(record, "fields", {})
    fields = " ".join(f"{key}={value}" for key, value in said.items())
    problem = f" {text_of(record.exc_info[1])}" if record.exc_info and record.exc_info[1] else ""
    return f"{clock.iso(clock.now())} {record.levelname.lower():7} {record.getMessage()} {fields}{problem}".rstrip()


def text_of(error: BaseException) -> str:
    """An error in one line, without the values, maybe a person's, that PostgreSQL and its driver quote.

    They stand in the DETAIL, which only `str` adds, and in the messages of class 22, which are all about a value.
    """
    state = getattr(error, "sqlstate", None)
    text = str(error) if state is None else "" if state.startswith("22") else error.args[0]
    return f"{type(error).__name__}: {text}"


def _trace(error: BaseException) -> str:
    """Where an error came from, and those that led to it before it."""
    earlier = [*getattr(error, "exceptions", ()), error.__cause__ or error.__context__]
    return "".join(
        [*(_trace(step) + "\n" for step in earlier if step), *format_tb(error.__traceback__), text_of(error)]
    )


class QueuedLines(QueueHandler):
    """Formats a record where it is made, and leaves the writing to a thread: no request waits for who reads the lines.
    When the queue is full because nobody does, further lines are dropped and counted.
    """

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


def configure(form: str, level: str = "info") -> None:
    """Send the lines of `level` and above to stderr in one form, `json` or `text`. `level` concerns our own lines.

    Those of libraries, uvicorn's too, go the same way. Nothing waits for their reader: see `QueuedLines`.
    """
    handler = QueuedLines(_json if form == "json" else _plain)
    logging.basicConfig(handlers=[handler], level=logging.INFO, force=True)
    _log.setLevel(level.upper())
    for noisy in ("httpx", "uvicorn.access"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
