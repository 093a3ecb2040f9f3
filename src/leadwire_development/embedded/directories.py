"""Under whose name the servers run, and where their files and sockets are, so that nobody else can reach them.

PostgreSQL refuses to be root, so as root the servers run as `nobody`; no account is made.
"""

import functools
import hashlib
import os
import pwd
import re
import tempfile
from pathlib import Path
from typing import Final

from leadwire.infrastructure.errors import OperatorError

ELSEWHERE: Final = Path("/var/lib/leadwire")
"""For root, whose data directory may lie where `nobody` cannot go."""
_ORIGIN: Final = "belongs-to"  # in a state directory elsewhere: the data directory it is for
_LONGEST: Final = 80  # bytes of a socket's directory: its path holds 104 on macOS
_PLAIN: Final = re.compile(r"[A-Za-z0-9_./-]+")  # what an address and a setting of PostgreSQL take as it is
_OURS: Final = frozenset({"logs", "secret.key", "up.env", "up.json", "up.lock"})


@functools.cache
def server_user() -> pwd.struct_passwd | None:
    """Whom the servers run as, or None: as ourselves. Raises OperatorError as root without a `nobody`."""
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam("nobody")
    except KeyError as error:
        raise OperatorError(
            "as root the servers run as `nobody`, whom this machine lacks: run as another user, "
            "or set LEADWIRE_DATABASE_URL and LEADWIRE_REDIS_URL"
        ) from error


def check_account() -> None:
    """Raises OperatorError where PostgreSQL could not run at all."""
    try:
        pwd.getpwuid(os.geteuid())
    except KeyError as error:
        raise OperatorError(
            f"user id {os.geteuid()} has no name on this machine, which PostgreSQL needs: set LEADWIRE_DATABASE_URL"
        ) from error


def clean_environment() -> dict[str, str]:
    """Nothing like PGPORT or LC_ALL from outside."""
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC"}


def open_to_all(path: Path) -> bool:
    """Whether another user can reach `path`, by its name and by where its links lead."""
    places = {path, path.resolve()}
    return all(part.stat().st_mode & 1 for place in places for part in (place, *place.parents))


def private(directory: Path) -> Path:
    """`directory`, made if need be, for the servers' user alone. Raises OperatorError when it is somebody else's.

    It may lie where others write, as in /tmp: what is looked at and what is changed are one opened directory, never a
    link, however quickly one takes its place.
    """
    user = server_user()
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        opened = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError as error:
        raise OperatorError(f"{directory} belongs to somebody else or is a link: {error.strerror}") from error
    try:
        if os.fstat(opened).st_uid not in {os.geteuid(), user.pw_uid if user else os.geteuid()}:
            raise OperatorError(f"{directory} belongs to somebody else")
        if user:
            os.fchown(opened, user.pw_uid, user.pw_gid)
        os.fchmod(opened, 0o700)
    finally:
        os.close(opened)
    return directory


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read, entirely or not at all."""
    draft = path.with_name(f"{path.name}.tmp")
    draft.unlink(missing_ok=True)
    draft.touch(mode=0o600)
    draft.write_text(text)
    draft.replace(path)


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
