"""Under whose name the servers run. PostgreSQL refuses to be root, so as root it is `nobody`; no account is made."""

import os
import pwd
from pathlib import Path
from typing import Any, Final

from leadwire.errors import OperatorError

SERVER_USER: Final = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
"""Whom the servers run as, or None: as ourselves."""


def dropped() -> dict[str, Any]:
    """For subprocess: run as the servers' user."""
    return {"user": SERVER_USER.pw_uid, "group": SERVER_USER.pw_gid, "extra_groups": []} if SERVER_USER else {}


def clean_environment() -> dict[str, str]:
    """Nothing like PGPORT or LC_ALL from outside."""
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC"}


def open_to_all(path: Path) -> bool:
    """Whether another user can reach `path`."""
    return all(part.stat().st_mode & 1 for part in (path, *path.parents))


def private(directory: Path) -> Path:
    """`directory`, made if need be, for the servers' user alone. Raises OperatorError when it is somebody else's."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        ours = {os.geteuid(), SERVER_USER.pw_uid if SERVER_USER else os.geteuid()}
        if directory.is_symlink() or directory.stat().st_uid not in ours:
            raise OperatorError(f"{directory} belongs to somebody else")
        if SERVER_USER:
            os.chown(directory, SERVER_USER.pw_uid, SERVER_USER.pw_gid)
        directory.chmod(0o700)
    except OSError as error:
        raise OperatorError(f"{directory} cannot be used: {error.strerror}") from error
    return directory


def check_account() -> None:
    """Raises OperatorError where the servers could not run at all."""
    if SERVER_USER is None:
        try:
            pwd.getpwuid(os.geteuid())
        except KeyError as error:
            raise OperatorError(
                f"user id {os.geteuid()} has no name on this machine, which PostgreSQL needs: set LEADWIRE_DATABASE_URL"
            ) from error
