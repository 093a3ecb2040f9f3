"""Where the migrations are, and which there are."""

import functools
import re
from pathlib import Path
from typing import Final

_PACKAGE: Final = Path(__file__).resolve().parents[2]
_SHIPPED, _CHECKOUT = _PACKAGE / "migrations", _PACKAGE.parents[1] / "migrations"

FOLDER: Final = _SHIPPED if _SHIPPED.is_dir() else _CHECKOUT
"""Inside the package in a wheel, else at the top of the checkout."""

_ID: Final = re.compile(r'^ID = "(.+)"$', re.MULTILINE)


@functools.cache
def ids() -> frozenset[str]:
    """Of every migration. Read, not imported: readiness asks for them, and importing Piccolo's takes half a second."""
    return frozenset(found for file in FOLDER.glob("[0-9]*.py") for found in _ID.findall(file.read_text()))
