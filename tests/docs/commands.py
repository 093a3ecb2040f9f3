"""The commands that the documents show: every line of an `sh` block, and every code span that begins like one."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click

from leadwire.__main__ import cli

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "src" / "leadwire" / "docs"
DOCUMENTS = [
    ROOT / "README.md",
    *sorted((ROOT / ".github").rglob("*.md")),
    *sorted((ROOT / "src").rglob("*.md")),
    *sorted(path for path in (ROOT / "ops").rglob("*.md") if ".venv" not in str(path)),
]
_SPAN = re.compile(r"`((?:(?:uv|pip|leadwire|python) |ops\.)[^`]+)`")


def commands(document: Path) -> Iterator[list[str]]:
    """Each command as its words, without the `pip install uv &&` or the comment around it."""
    text = document.read_text()
    lines = "\n".join(re.findall(r"^ *```sh\n(.+?)^ *```", text, re.DOTALL | re.MULTILINE)).replace("\\\n", " ")
    spans = _SPAN.findall(re.sub(r"^ *```.+?^ *```", "", text, flags=re.DOTALL | re.MULTILINE))
    for line in [*lines.splitlines(), *spans]:
        for part in re.split(r" && | \|\|? |; ", re.sub(r"(^| )# .*", "", line)):
            if words := shlex.split(part):
                yield [words[0].rpartition("/")[2], *words[1:]]


def resolved(words: list[str]) -> tuple[click.Command, list[str]]:
    """The command of ours that these words name, and the rest of them. Raises click.UsageError."""
    command: click.Command = cli
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        context = click.Context(command)
        _, found, words = command.resolve_command(context, words)
        assert found is not None
        command = found
    return command, words


def leaves(command: click.Command = cli, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every command that does something, as the words that call it."""
    if not isinstance(command, click.Group):
        yield path
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        inner = command.get_command(context, name)
        if inner is not None and not inner.hidden:
            yield from leaves(inner, (*path, name))
