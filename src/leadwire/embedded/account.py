"""Under whose name the servers run. PostgreSQL refuses to be root, so as root it is `nobody`; no account is made."""

import functools
import os
import pwd
from pathlib import Path

from leadwire.errors import OperatorError


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
    """`directory`, made if need be, for the servers' user alone. Raises OperatorError when it is somebody else's."""
    user = server_user()
    owner = user.pw_uid if user else os.geteuid()
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = directory.lstat()
    # A directory of root's is handed over only while it is new: nobody's files change hands here, nor through a link.
    new = found.st_uid == os.geteuid() and not any(directory.iterdir())
    if directory.is_symlink() or not (found.st_uid == owner or new):
        raise OperatorError(f"{directory} belongs to somebody else")
    if user and found.st_uid != owner:
        os.chown(directory, user.pw_uid, user.pw_gid, follow_symlinks=False)
    directory.chmod(0o700)
    return directory
