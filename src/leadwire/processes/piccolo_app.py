"""Piccolo's view of Leadwire: every table, and where the migrations are: beside us in a wheel, else top level."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from piccolo.conf.apps import AppConfig, table_finder

from leadwire.infrastructure.db.migrations import FOLDER

_TABLE: Final = re.compile(r"^class .*\btablename=", re.MULTILINE)


def _modules() -> Iterator[str]:
    """The modules that have a table, by their text: no other is imported."""
    package = Path(__file__).parents[1]
    for file in sorted(package.rglob("*.py")):
        if _TABLE.search(file.read_text(encoding="utf-8")):
            yield ".".join((package.name, *file.relative_to(package).with_suffix("").parts))


TABLES = table_finder(list(_modules()), exclude_imported=True)

APP_CONFIG = AppConfig(app_name="leadwire", migrations_folder_path=str(FOLDER), table_classes=TABLES)
