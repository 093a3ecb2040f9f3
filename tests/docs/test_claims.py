"""What the pages about security claim can be looked up: each test, file and name there is, each requirement once."""

import re

import pytest

from tests.docs.commands import ROOT

PAGES = ("ops/asvs.md", "ops/openid.md", "ops/security.md")
ASVS = (ROOT / "ops" / "asvs.md").read_text()
# Sections of ASVS 5.0.0, and how many requirements of the levels 1 and 2 each has: those are its first ones.
_SECTIONS = """
1.1:2 1.2:9 1.3:11 1.4:3 1.5:2 2.1:3 2.2:3 2.3:4 2.4:1 3.2:2 3.3:4 3.4:6 3.5:5 3.7:2 4.1:3 4.2:1 4.3:2 4.4:4 5.1:1
5.2:3 5.3:2 5.4:3 6.1:3 6.2:12 6.3:4 6.4:4 6.5:5 6.6:3 6.8:4 7.1:3 7.2:4 7.3:2 7.4:5 7.5:2 7.6:2 8.1:2 8.2:3 8.3:1
8.4:1 9.1:3 9.2:4 10.1:2 10.2:2 10.3:4 10.4:11 10.5:5 10.6:2 10.7:3 11.1:2 11.2:3 11.3:3 11.4:4 11.5:1 11.6:1 12.1:3
12.2:2 12.3:4 13.1:1 13.2:5 13.3:2 13.4:5 14.1:2 14.2:4 14.3:3 15.1:3 15.2:3 15.3:7 16.1:1 16.2:5 16.3:4 16.4:3 16.5:3
17.1:1 17.2:4 17.3:2
"""
_ROW = re.compile(r"^\| (\d[\d., ]+) \| (held|no test|open|n/a) \| (.+) \|$", re.MULTILINE)
_NAMED = re.compile(r"`([\w./-]+\.\w+)?::(\w+)`|`((?:src|tests|ops|\.github|\.ci)/[\w./-]+)`")
VERDICTS = ("held", "no test", "open", "n/a")
ROWS = [(ids.split(", "), verdict, text) for ids, verdict, text in _ROW.findall(ASVS)]


def missing(text):
    """What a text names and is not there: a file, or a name that is not defined in it."""
    file = ""
    for begun, name, path in _NAMED.findall(text):
        file = begun or path or file
        if not (ROOT / file).exists():
            yield file
        elif name and not re.search(rf"(?m)^ *(?:(?:async )?def |class )?{name}\b", (ROOT / file).read_text()):
            yield f"{file}::{name}"


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_names_is_there(page):
    text = (ROOT / page).read_text()
    assert len(_NAMED.findall(text)) > 10
    assert list(missing(text)) == []


def test_a_name_that_is_gone_is_noticed():
    here = "`tests/docs/test_claims.py::test_what_a_page_names_is_there`, `::test_of_nothing`, `tests/docs/nothing.py`"
    assert list(missing(here)) == ["tests/docs/test_claims.py::test_of_nothing", "tests/docs/nothing.py"]


def test_the_lies_that_are_named_are_told():
    """In italics, of `LIES` in the file that the same table names."""
    lies = (ROOT / "tests" / "interfaces" / "web" / "test_sso_lies.py").read_text()
    named = re.findall(r"(?<!\*)\*([^*|]+)\*(?!\*)", (ROOT / "ops" / "openid.md").read_text())
    assert len(named) > 10
    assert [name for name in named if f'"{name}": (' not in lies] == []


def test_every_requirement_has_one_line():
    sections = [one.split(":") for one in _SECTIONS.split()]
    wanted = [f"{section}.{n + 1}" for section, most in sections for n in range(int(most))]
    assert sorted(one for ids, *_ in ROWS for one in ids) == sorted(wanted)


def test_the_figures_are_those_of_the_lines():
    told = {verdict: int(figure) for verdict, figure in re.findall(r"(?m)^\| ([a-z/ ]+) \| (\d+) \| ", ASVS)}
    assert told == {one: sum(len(ids) for ids, verdict, _ in ROWS if verdict == one) for one in VERDICTS}
    assert f"has {sum(told.values())} requirements" in ASVS


def test_what_is_open_says_why():
    assert [ids for ids, verdict, text in ROWS if verdict == "open" and not re.search(r" Why: \S", text)] == []


def test_what_is_held_names_a_test():
    assert len(ROWS) > 100
    assert [ids for ids, verdict, text in ROWS if verdict == "held" and "::test_" not in text] == []
