"""Every file that a document names is there."""

import re

import pytest

from tests.readme.commands import DOCUMENTS, ROOT

_PATH = re.compile(r"(?:`|\]\()((?:tests|ops|src|migrations)/[\w./-]*\w)(?:`|\))")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_file_that_is_named_is_there(document):
    named = set(_PATH.findall(document.read_text()))
    assert {path for path in named if not (ROOT / path).exists()} == set()


def test_files_are_named():
    assert len(_PATH.findall((ROOT / "ops" / "security.md").read_text())) > 20
