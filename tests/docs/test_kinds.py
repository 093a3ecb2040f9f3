"""The table of what runs in the background has every kind of job, and how often it is done or looked for."""

import re

from leadwire.infrastructure.jobs.kinds import KINDS
from leadwire.processes.background import find_kinds
from tests.docs.commands import DOCS


def written() -> list[tuple[str, str]]:
    """Kind and seconds of each row."""
    text = (DOCS / "architecture.md").read_text()
    (chapter,) = re.findall(r"^## What runs in the background\n(.+?)^## ", text, re.DOTALL | re.MULTILINE)
    rows = re.findall(r"^\| (`.+?) \| .+? \| *(\d*) *\|$", chapter, re.MULTILINE)
    return [(kind, seconds) for kinds, seconds in rows for kind in re.findall(r"`(.+?)`", kinds)]


def every(name: str) -> str:
    seconds = KINDS[f"{name}.find" if f"{name}.find" in KINDS else name].every
    return "" if seconds is None else f"{seconds:g}"


def test_the_table_is_the_registry():
    find_kinds()
    kinds = [name for name in KINDS if not name.endswith(".find")]
    assert sorted(written()) == sorted((name, every(name)) for name in kinds)
