"""What a server's log says about why it does not run."""

import contextlib
import re
from pathlib import Path
from typing import Final

_TELLING: Final = re.compile(r"FATAL|PANIC|ERROR:|rror: |# (?!WARNING)|could not|[Cc]an't")
_PASSING: Final = re.compile(r"database system is|recovery mode")  # what PostgreSQL tells those who come too early
_PREFIX: Final = re.compile(r"^.*?(?:FATAL|PANIC|ERROR): +|^\d+:\w .*? # ")
_LONGEST: Final = 300


def begin(log: Path) -> None:
    """A new log for a new start; the one before it is kept beside it."""
    if log.exists():
        log.replace(log.with_name(f"{log.name}.old"))


def reason(log: Path) -> str:
    """The last line of `log` that says why, and where the log is."""
    lines: list[str] = []
    with contextlib.suppress(OSError):
        lines = [line.strip() for line in log.read_text(errors="replace").splitlines()[-60:] if line.strip()]
    telling = [line for line in lines if _TELLING.search(line) and not _PASSING.search(line)]
    said = (telling or lines or ["no reason given"])[-1]
    return f"{_PREFIX.sub('', said)[:_LONGEST]} (log: {log})"
