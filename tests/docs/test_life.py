"""The walks of architecture.md: each stop is there, and what came before it names it."""

import re

import pytest

from tests.docs.commands import ROOT

PAGE = (ROOT / "src" / "leadwire" / "docs" / "architecture.md").read_text()
_STOP = re.compile(r"^(?:In (`\w+`|any process)[^:\n]*:\n\n)?- `([\w/]+\.py)::(\w+)`", re.MULTILINE)
WALKS = {
    title: stops
    for title, text in re.findall(r"(?ms)^## (.+?)\n(.*?)(?=^## |\Z)", PAGE)
    if (stops := _STOP.findall(text))
}


def test_there_are_the_walks_that_are_looked_for():
    assert [*WALKS] == [
        f"The life of {one}" for one in ("an event", "a dead letter", "a message", "a sign-in", "a job")
    ]


@pytest.mark.parametrize("title", WALKS)
def test_a_walk_goes_through_the_code(title):
    """A stop is named in the file of an earlier one, but for those with which a process begins."""
    before = ""
    for process, file, name in WALKS[title]:
        source = (ROOT / "src" / "leadwire" / file).read_text()
        assert re.search(rf"(?m)^ *(?:(?:async )?def|class) {name}\b", source), f"{file}::{name}"
        assert process or re.search(rf"\b{name}\b", before), f"{name} is named by no stop before it"
        before += source
