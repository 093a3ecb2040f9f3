"""An export as a file, which can be gone on with."""

import os
from pathlib import Path
from typing import IO, Final

from leadwire.domain.accounts.audit import changes as audit
from leadwire.domain.workspaces import export
from leadwire.infrastructure import db
from leadwire.infrastructure.errors import Invalid, OperatorError

LAST: Final = b'{"kind":"end"'
"""How the last line begins."""
_LOOK_BACK: Final = 65_536  # bytes
_LONGEST_FIRST: Final = 1_000_000


async def write(workspace: str, path: Path) -> None:
    """Write an export, or go on with one that was cut off: what is not a whole line is written again.

    That one began is in the workspace's audit log.
    Raise Invalid when the file is something else, or another workspace's; OperatorError when it cannot be written.
    """
    with _open(path) as file:
        first, last, size = ends(file)
        if not _is_beginning(first, workspace):
            raise Invalid(f"{path} is no export of {workspace}. Choose another file.")
        if last.startswith(LAST):
            return
        export.place_after(last)
        if not last:
            async with db.transaction():
                await audit.record(workspace, "operator", audit.Entry("workspace.exported", workspace))
        file.truncate(size)
        async for some in export.lines(workspace, last):
            _append(file, some)


def _open(path: Path) -> IO[bytes]:
    try:
        return path.open("a+b")
    except OSError as error:
        raise _unwritable(path, error) from error


def _append(file: IO[bytes], some: bytes) -> None:
    try:
        file.write(some)
        file.flush()
    except OSError as error:
        raise _unwritable(file.name, error) from error


def _unwritable(path: Path | str, error: OSError) -> OperatorError:
    return OperatorError(f"{path} cannot be written: {error.strerror}")


def ends(file: IO[bytes]) -> tuple[bytes, bytes, int]:
    """The first line of a file, the last whole one, and where that ends."""
    file.seek(0)
    first = file.readline(_LONGEST_FIRST)
    if not first.endswith(b"\n"):
        return first, b"", 0
    size = file.seek(0, os.SEEK_END)
    found = b""
    while found.count(b"\n") < 2 and len(found) < size:  # the end of the last line, and of the one before it
        start = max(0, size - 2 * len(found) - _LOOK_BACK)
        file.seek(start)
        found = file.read(size - start)
    whole = found[: found.rindex(b"\n") + 1]
    return first, whole.splitlines()[-1], size - len(found) + len(whole)


def _is_beginning(first: bytes, workspace: str) -> bool:
    """Whether a file with this first line is an export of the workspace, as far as one can tell, or empty."""
    expected = export.line(export.kinds()[0].name, {"id": workspace})[:-3]  # without what closes it: more follows
    return expected.startswith(first[: len(expected)])
