"""The tables of the flow format's reference, `domain/bots/flow/README.md`, for the editor's help."""

import functools
import re
from pathlib import Path
from typing import Final

from msgspec import Struct

from leadwire.domain.bots.flow import nodes

_README: Final = Path(nodes.__file__).with_name("README.md")
_SECTION: Final = re.compile(r"^##+ ([^\n]+)\n+(.*?)(?=^##|\Z)", re.DOTALL | re.MULTILINE)


class Table(Struct, frozen=True):
    """What a section tells of a node, of an object inside one, of operators, inputs or variables."""

    name: str
    about: str
    rows: list[tuple[str, str, str]]
    """A name, its type where it is a field, and its description."""


@functools.cache
def tables() -> list[Table]:
    """Return every table, in the order of the page."""
    tables = []
    for heading, text in _SECTION.findall(_README.read_text(encoding="utf-8")):
        lines = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("|")]
        about = " ".join(text.partition("\n\n")[0].split()) if not text.startswith("|") else lines[0][-1]
        if lines:
            tables.append(Table(heading.strip("`"), about, [_row(*line) for line in lines[2:]]))
    return tables


def _row(name: str, *rest: str) -> tuple[str, str, str]:
    type_, default, about = rest if len(rest) == 3 else ("", "none", rest[0])
    more = {"none": "", "required": "; required"}.get(default, f"; default {default}")
    return name.strip("`"), type_ + more, about
