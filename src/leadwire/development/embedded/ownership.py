"""Who runs the servers of a state directory: whoever takes its lock; the others read where the servers are.

The kernel gives the lock up however its holder dies, so what is published is true only while the lock is held.
"""

import contextlib
import fcntl
import os
import time
from pathlib import Path
from typing import IO, Final

import msgspec

from leadwire.development.embedded import postgres, valkey
from leadwire.development.embedded.server import answers
from leadwire.infrastructure.errors import OperatorError

_PUBLISHED: Final = "urls.json"
_PATIENCE: Final = 55.0  # seconds for an owner to publish


class Published(msgspec.Struct):
    """What the owner tells: where its sockets are and the address of each server it runs, "" of one it does not."""

    sockets: str
    database_url: str
    redis_url: str


def open_lock(state: Path) -> IO[str]:
    """The file to be locked; closing it gives the lock up."""
    descriptor = os.open(state / "lock", os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    return os.fdopen(descriptor, "w")


def own_or_attach(state: Path, lock: IO[str]) -> Published | None:
    """None once we hold the lock, else what its owner published, as soon as that is true.

    Raises OperatorError when neither comes to be.
    """
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return None
        with contextlib.suppress(FileNotFoundError, msgspec.DecodeError):
            found = msgspec.json.decode((state / _PUBLISHED).read_bytes(), type=Published)
            if _serves(found):  # not if an owner died and the next one has not yet come to replace it
                return found
        time.sleep(0.05)
    raise OperatorError(f"another process holds {state / 'lock'} but its servers do not come up")


def publish(state: Path, published: Published) -> None:
    """Let others attach."""
    draft = state / f"{_PUBLISHED}.new"
    draft.unlink(missing_ok=True)
    draft.touch(mode=0o600)
    draft.write_bytes(msgspec.json.encode(published))
    draft.replace(state / _PUBLISHED)


def withdraw(state: Path) -> None:
    """Let nobody attach."""
    (state / _PUBLISHED).unlink(missing_ok=True)


def _serves(published: Published) -> bool:
    sockets = Path(published.sockets)
    return (not published.database_url or answers(sockets / postgres.SOCKET, postgres.is_ready)) and (
        not published.redis_url or answers(sockets / valkey.SOCKET, valkey.is_ready)
    )
