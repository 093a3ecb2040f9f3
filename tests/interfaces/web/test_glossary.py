"""The terms of ours: where screens explain them, and the document that has them all."""

import re
from pathlib import Path

import leadwire
from leadwire.interfaces.web.rendering import TERMS

_PACKAGE = Path(leadwire.__file__).parent
_HELP = re.compile(r"help\('(\w+)'\)")
TEMPLATES = {path.name: path.read_text() for path in (_PACKAGE / "interfaces/web/templates").rglob("*.html")}


def test_a_screen_explains_each_term_once_and_only_terms_there_are():
    for name, text in TEMPLATES.items():
        asked = _HELP.findall(text)
        assert set(asked) <= TERMS.keys(), name
        assert len(set(asked)) == len(asked), name


def test_the_concepts_have_every_term_word_by_word():
    concepts = re.sub(r"\s+", " ", (_PACKAGE / "docs/concepts.md").read_text())
    for term in TERMS.values():
        assert f"- **{term.name}**: {term.text}" in concepts
