"""Values have nouns for names: what they are, not what happened to them. The counts of others only go down."""

import ast
from collections import Counter

from tests.architecture.test_shape import ROOT

MOST = {
    "one": 6, "found": 3, "place": 20, "known": 12, "made": 2, "given": 3, "asked": 6, "shown": 3,
}  # fmt: skip
"""How often each is still assigned or a parameter in `src/leadwire`."""


def named(source):
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def test_values_are_named_for_what_they_are():
    sources = (ROOT / "src" / "leadwire").rglob("*.py")
    counts = Counter(name for path in sources for name in named(path.read_text()) if name in MOST)
    worse = {name: count for name, count in counts.items() if count > MOST[name]}
    assert not worse, f"name a new value for what it is, such as rows, cursor or endpoint: {worse}, at most {MOST}"


def test_a_lead_is_a_lead_and_nothing_else():
    paths = [path for path in (ROOT / "src" / "leadwire").rglob("*.py") if "\nclass Lead(" in path.read_text()]
    assert sorted(path.name for path in paths) == ["schema.py", "table.py"]
