"""The running `up` of a data directory, so that a command in another terminal acts on it without any setting."""

import fcntl
import os
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec

from leadwire.infrastructure import settings
from leadwire.infrastructure.errors import OperatorError
from leadwire.infrastructure.settings import Settings
from leadwire_development.embedded import services
from leadwire_development.embedded.directories import holds, write_private

_LOCK: Final = "up.lock"
_ENVIRONMENT: Final = "up.env"
_LARGEST_LOG: Final = 10_000_000  # bytes


@contextmanager
def exclusive(path: Path) -> Iterator[Path]:
    """Lock the data directory for as long as `up` runs, and return its absolute path. Raise OperatorError."""
    directory = path.absolute()
    try:
        (directory / "logs").mkdir(parents=True, exist_ok=True)
        lock = (directory / _LOCK).open("a")
    except OSError as error:
        raise OperatorError(f"the data directory {directory} cannot be used: {error.strerror}") from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise OperatorError(f"another `leadwire up` is running on {directory}") from error
        for left_over in (_ENVIRONMENT, "up.json"):  # by an `up` that was killed
            (directory / left_over).unlink(missing_ok=True)
        for log in (directory / "logs").glob("*.log"):
            if log.stat().st_size > _LARGEST_LOG:
                log.replace(log.with_suffix(".log.old"))
        try:
            yield directory
        finally:
            (directory / _ENVIRONMENT).unlink(missing_ok=True)


def publish(directory: Path, environment: Mapping[str, str]) -> None:
    """Write down the settings that `up` runs under, in a form that a shell can read, too."""
    write_private(
        directory / _ENVIRONMENT, "".join(f"{name}={shlex.quote(value)}\n" for name, value in environment.items())
    )


def load_environment() -> None:
    """Set what the `up` that runs on this data directory has published, except for what is set already."""
    directory = settings.get().data_dir.absolute()
    if not _is_running(directory):
        return
    with suppress(OSError):
        for assignment in shlex.split((directory / _ENVIRONMENT).read_text()):
            name, _, value = assignment.partition("=")
            os.environ.setdefault(name, value)
        settings.get.cache_clear()


@contextmanager
def servers(*, new: bool = False) -> Iterator[Settings]:
    """Return the settings with both server addresses: as set, or of the embedded servers, attached to or started.

    Raises OperatorError where there are neither addresses nor embedded servers yet, unless `new` ones may be made.
    """
    load_environment()
    chosen = settings.get()
    has_database = chosen.database_url or holds(chosen.data_dir, "postgres")
    if not new and not (has_database and (chosen.redis_url or holds(chosen.data_dir, "valkey"))):
        raise OperatorError(
            f"there is no Leadwire in {chosen.data_dir.absolute()}: start one with `leadwire up`, or set"
            " LEADWIRE_DATABASE_URL and LEADWIRE_REDIS_URL, or LEADWIRE_DATA_DIR to the directory of one"
        )
    with services(chosen) as running:
        yield msgspec.structs.replace(chosen, database_url=running.database_url, redis_url=running.redis_url)


def _is_running(directory: Path) -> bool:
    with suppress(OSError), (directory / _LOCK).open() as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
