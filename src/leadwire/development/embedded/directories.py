"""Where the servers' files and sockets are, so that the servers' user can reach them and nobody else."""

import hashlib
import os
import re
import tempfile
from pathlib import Path
from typing import Final

from leadwire.development.embedded.account import open_to_all, private, server_user
from leadwire.infrastructure.errors import OperatorError

ELSEWHERE: Final = Path("/var/lib/leadwire")
"""For root, whose data directory may lie where `nobody` cannot go."""
_ORIGIN: Final = "belongs-to"  # in a state directory elsewhere: the data directory it is for
_LONGEST: Final = 80  # bytes of a socket's directory: its path holds 104 on macOS
_PLAIN: Final = re.compile(r"[A-Za-z0-9_./-]+")  # what an address and a setting of PostgreSQL take as it is
_OURS: Final = frozenset({"logs", "secret.key", "up.env", "up.json", "up.lock"})


def state_directory(data_dir: Path) -> Path:
    """The servers' files: `servers` in the data directory.

    As root the servers run as `nobody`, who may be unable to get there, as in a clone below /root: then their files
    are below /var/lib and `servers` is a link. Raises OperatorError when it cannot be used.
    """
    directory = data_dir.absolute()
    _make(directory)
    state = directory / "servers"
    if state.is_symlink() and not state.exists():
        state.unlink()  # what it led to was removed
    if server_user() and not open_to_all(directory):
        state = _elsewhere(directory, state)
    state.mkdir(mode=0o711, exist_ok=True)
    if state.stat().st_uid != os.geteuid():
        raise OperatorError(f"{state} belongs to somebody else: run as its owner, or choose another data directory")
    state.chmod(0o711 if server_user() else 0o700)
    return state.resolve()


def holds(data_dir: Path, server: str) -> bool:
    """Whether an embedded `postgres` or `valkey` has run on this data directory before."""
    return any((data_dir / "servers").glob(f"{server}-*"))


def socket_directory(state: Path) -> Path:
    """A private directory whose path is short and plain enough for a socket, an address and a setting.

    Raises OperatorError when there is no place for one.
    """
    name = f"leadwire-{_digest(state)}"
    for run in (state / "run", Path(tempfile.gettempdir()) / name, Path("/tmp") / name):  # noqa: S108 - made private
        reachable = not server_user() or open_to_all(run.parent)
        if reachable and len(os.fsencode(run)) <= _LONGEST and _PLAIN.fullmatch(str(run)):
            return private(run)
    raise OperatorError("there is no place for the servers' sockets: set TMPDIR to a short path")


def _make(directory: Path) -> None:
    """The data directory, closed to others unless it is one that was here before us and holds something else."""
    fresh = not directory.exists()
    directory.mkdir(parents=True, exist_ok=True)
    found = directory.stat()
    ours = found.st_uid == os.geteuid() and not found.st_mode & 0o1022
    if fresh or (ours and {entry.name for entry in directory.iterdir()} <= _OURS):
        directory.chmod(0o711 if server_user() else 0o700)


def _elsewhere(directory: Path, link: Path) -> Path:
    """The state directory of `directory` below /var/lib, with a link to it so that a person finds it."""
    if link.exists() and not link.is_symlink():
        raise OperatorError(
            f"{link} is where `nobody` cannot go, as whom the servers run: move it, or open its parents"
        )
    ELSEWHERE.mkdir(parents=True, exist_ok=True)
    if ELSEWHERE.stat().st_uid != 0:
        raise OperatorError(f"{ELSEWHERE} belongs to somebody else")
    ELSEWHERE.chmod(0o711)
    state = ELSEWHERE / _digest(directory)
    if link.is_symlink():
        linked = link.resolve()
        if linked.parent == ELSEWHERE.resolve() and not _is_copy(linked, link):
            state = linked  # the data directory was moved: its servers' files go with it
        else:
            link.unlink()
    state.mkdir(mode=0o711, exist_ok=True)
    (state / _ORIGIN).write_text(str(directory))
    if not link.is_symlink():
        link.symlink_to(state)
    return state


def _is_copy(state: Path, link: Path) -> bool:
    """Whether `state` is still linked from the data directory it was made for, and `link` came by copying that."""
    try:
        original = Path((state / _ORIGIN).read_text()) / "servers"
        return original != link and original.resolve() == state
    except FileNotFoundError:
        return False


def _digest(path: Path) -> str:
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:16]
