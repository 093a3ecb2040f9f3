"""Every command that a document shows exists, with its options; and every command there is, is in the table."""

import importlib.util
import re
import shlex
import shutil
import tomllib
from pathlib import Path

import click

from leadwire.interfaces.docs import markdown
from tests.docs.commands import DOCS, DOCUMENTS, ROOT, commands, leaves, resolved

OURS = [document for document in DOCUMENTS if document.parent.name != "runbooks"]  # tests/ops/test_runbooks.py
EXAMPLES = ROOT / "src/leadwire/interfaces/cli/examples.toml"


def _of_leadwire(words):
    command, rest = resolved(words)
    try:
        command.make_context("leadwire", list(rest))
    except click.MissingParameter:
        assert not rest  # the command itself is meant
    except click.BadParameter as error:
        assert rest[-1] == rest[-1].upper(), error  # FILE stands for one


def _of_pytest(words):
    for word in words:
        assert not word.startswith("tests") or (ROOT / word).exists(), word


def _of_python(words):
    flag, module, *options = words
    assert flag == "-m"
    spec = importlib.util.find_spec(module)
    assert spec is not None, module
    source = Path(spec.origin)
    files = [*source.parent.rglob("*.py")] if source.name == "__init__.py" else [source]
    assert source.name != "__init__.py" or source.with_name("__main__.py").exists(), module
    text = "".join(path.read_text() for path in files)
    for option in options:
        assert re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", text) or not option.startswith("-"), option


def _without_uv(words):
    """The command that `uv run` is given, after its own options, each of which takes a value."""
    if words[:2] != ["uv", "run"]:
        return words
    first = next(number for number in range(2, len(words), 2) if not words[number].startswith("--"))
    return words[first:]


_RUN = {"leadwire": _of_leadwire, "pytest": _of_pytest, "python": _of_python}


def test_every_command_exists():
    for words in (words for document in OURS for words in commands(document)):
        if any(word.startswith("[--") for word in words):
            continue  # of the table, below
        program, *rest = _without_uv(words)
        if program.startswith("ops."):
            program, rest = "python", ["-m", program, *rest]
        if program in _RUN:
            _RUN[program](rest)
        elif words[0] == "uv" and words[1] != "run":
            assert words[1] in ("build", "sync"), words
        elif words[0] == "uv":
            assert shutil.which(program) or {"--with", "--group"} & {*words}, words


def test_pages_for_integrators_need_nothing_of_the_source():
    """But for the first one, which says how to try it with a copy."""
    groups = dict(markdown.contents().groups)
    names = [name for title in ("Get started", "Guides", "API") for name in groups[title] if name != "start"]
    files = [file for name in names if (file := DOCS / f"{name}.md").exists()]
    assert len(files) >= 8
    assert [file.name for file in files if re.search("uv run|ops/|src/", file.read_text())] == []


def _rows():
    """The spans of the first column of the table of commands."""
    lines = (DOCS / "commands.md").read_text().splitlines()
    return [re.findall("`([^`]+)`", line.split(" | ")[0]) for line in lines if line.startswith("| `")]


def _shown():
    """Each command of the table: its path, and what may follow. A span without `leadwire` is a sibling of the first."""
    for first, *others in _rows():
        words = first.removeprefix("leadwire ").split()
        path = []
        for word in words:
            if not re.fullmatch("[a-z-]+", word) or word.startswith("-"):
                break
            path.append(word)
        yield tuple(path), words[len(path) :]
        for other in others:
            name, *rest = other.split()
            yield (*path[:-1], name), rest


def test_help_ends_with_examples_that_are_command_lines(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("support.toml", "client.pem", "client.key"):
        (tmp_path / name).touch()
    for path in leaves():
        title, *lines = (resolved(list(path))[0].epilog or "").removeprefix("\b\n").splitlines()
        assert title == "Examples:", path
        assert lines, path
        for line in lines:
            words = shlex.split(line.strip().partition(" > ")[0].removeprefix('eval "$(').removesuffix(')"'))
            command, rest = resolved(words[1:])
            assert command.name == path[-1]
            command.make_context("leadwire", list(rest)).close()


def test_there_are_no_examples_of_a_command_that_is_gone():
    assert {tuple(path.split()) for path in tomllib.loads(EXAMPLES.read_text())} <= set(leaves())


def test_the_table_lists_every_command():
    assert sorted(path for path, _ in _shown()) == sorted(leaves())


def test_the_table_gives_options_that_there_are():
    for path, rest in _shown():
        command, left = resolved(list(path))
        assert left == []
        known = {name: one for one in command.params for name in (*one.opts, *one.secondary_opts)}
        words = [word.strip("[]") for word in rest]
        for number, word in enumerate(words):
            if word.startswith("--"):
                assert word in known, f"{word}: there are {sorted(known)}"
                last = number + 1 == len(words) or rest[number].endswith("]")
                valued = not last and not words[number + 1].startswith("--")
                assert not (valued and known[word].is_flag), f"{word} takes no value"
            elif number == 0 or not words[number - 1].startswith("--"):
                assert any(isinstance(one, click.Argument) for one in command.params), f"{path} takes no {word}"
