"""PostgreSQL's data directory: made once beside its place and renamed, so that a half-made one is never used."""

import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Final

from leadwire.development.embedded.account import private
from leadwire.development.embedded.binaries import Binary
from leadwire.development.embedded.launch import launch
from leadwire.development.embedded.logs import begin, reason
from leadwire.infrastructure.errors import OperatorError

DATABASE: Final = "leadwire"


def create(binary: Binary, data: Path, log: Path, *, durable: bool, seconds: float) -> None:
    """Make the cluster with our empty database in it; one second is usual. Raises OperatorError with the reason."""
    end = time.monotonic() + seconds
    begin(log)
    for leftover in data.parent.glob(f"{data.name}.init-*"):
        shutil.rmtree(leftover, ignore_errors=True)
    # A name of its own: an owner killed a moment ago may have an initdb that is just ending.
    draft = private(Path(tempfile.mkdtemp(prefix=f"{data.name}.init-", dir=data.parent)))
    try:
        initdb = [str(binary.path.with_name("initdb")), "-D", str(draft), "-U", "postgres", "-E", "UTF8"]
        _do([*initdb, "--no-locale", "-A", "trust", *([] if durable else ["--no-sync"])], log, end)
        _do(
            [str(binary.path), "--single", "-D", str(draft), "postgres"], log, end, text=f"CREATE DATABASE {DATABASE}\n"
        )
        draft.rename(data)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


def check(binary: Binary, data: Path) -> None:
    """Raises OperatorError when `data` is not of the server's major version."""
    mark = data / "PG_VERSION"
    try:
        said = mark.read_text(errors="replace").strip()
    except FileNotFoundError:
        said = ""
    if said == str(binary.version[0]):
        return
    what = f"says {said[:20]!r}" if said else "is missing or empty"
    raise OperatorError(f"{data} cannot be used by PostgreSQL {binary.version[0]}: {mark.name} {what}")


def _do(command: list[str], log: Path, end: float, *, text: str = "") -> None:
    name = Path(command[0]).name
    with launch(command, signal.SIGTERM, log, text=text) as guard:
        try:
            failed = guard.wait(max(end - time.monotonic(), 0))
        except subprocess.TimeoutExpired as error:
            raise OperatorError(f"{name} did not end in time (log: {log})") from error
    if failed:
        raise OperatorError(f"{name} failed: {reason(log)}")
