"""Under whose name the servers run. PostgreSQL refuses to be root, so as root it is `nobody`; no account is made."""

import functools
import os
import pwd
from pathlib import Path

from leadwire.infrastructure.errors import OperatorError


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
