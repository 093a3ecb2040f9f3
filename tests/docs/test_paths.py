"""Every file that a document names or links to is there."""

import re
import tomllib

import pytest

from tests.docs.commands import DOCUMENTS, ROOT

PACKAGE = ROOT / "src" / "leadwire"
_TOP = "tests|ops|src|migrations|\\.github|\\.ci"
_INSIDE = "|".join(path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name.isalpha())
_PATH = re.compile(
    rf"`((?:{_TOP}|{_INSIDE})/[\w./-]*)`|\]\((?!https?:|/docs/|/schema\))([^)#]+)"
)  # those are served, see tests/interfaces/docs


def missing(document):
    """What the document names and is not there: from the root, inside the package, or as a link from where it is."""
    for named, linked in _PATH.findall(document.read_text()):
        places = [document.parent / linked] if linked else [ROOT / named, PACKAGE / named]
        if not any(place.exists() for place in places):
            yield named or linked


def test_every_file_that_is_named_is_there():
    assert [(str(document), name) for document in DOCUMENTS for name in missing(document)] == []


@pytest.mark.parametrize("name", ["ops/security.md", ".github/CONTRIBUTING.md", "src/leadwire/docs/architecture.md"])
def test_files_are_named(name):
    assert len(_PATH.findall((ROOT / name).read_text())) > 10


def test_the_drawn_layout_is_the_folders():
    """Each name in a drawing of `src/leadwire`, under the one that it is drawn under."""
    text = (PACKAGE / "docs" / "architecture.md").read_text()
    (drawing,) = re.findall(r"^```\nsrc/leadwire/\n(.+?)^```", text, re.DOTALL | re.MULTILINE)
    drawn, above = set(), PACKAGE
    for mark, names in re.findall(r"^([├└│] *(?:[├└])?)── ((?:\S+  ?)+)", drawing, re.MULTILINE):
        inside = mark.startswith("│")
        for name in names.split():
            place = (above if inside else PACKAGE) / name
            assert place.exists(), name
            drawn.add(place)
        if not inside:
            above = place
    assert {path for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__"} <= drawn


def test_what_mutmut_is_to_change_and_to_run_is_there():
    """It says only that pytest failed, where a file has another name by now."""
    chosen = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mutmut"]
    named = [*chosen["source_paths"], *chosen["only_mutate"], *chosen["pytest_add_cli_args_test_selection"]]
    assert [path for path in named if not (ROOT / path).exists()] == []
