"""How deep a text is nested, found without parsing it: parsers take time that grows with the square of it. Pure."""

import re
from typing import Final

MOST_PARTS: Final = 8
"""Parts that a key may have, `a.b.c` has three."""
MOST_BRACKETS: Final = 64
"""Lists and tables inside each other."""

# Strings and comments, also those that nothing ends; possessive, so that each character is read once.
_QUOTED: Final = re.compile(
    r"""\"{3}(?:[^"\\]|\\.?|"(?!""))*+(?:"{3,5})?|'{3}(?:[^']|'(?!''))*+(?:'{3,5})?"""
    r"""|"(?:[^"\\\n]|\\.?)*+"?|'[^'\n]*+'?|#[^\n]*+""",
    re.DOTALL,
)
_LONG_KEY: Final = re.compile(r"""\.(?:[ \t]*+[\w"-]*+[ \t]*+\.){%d}""" % (MOST_PARTS - 1))
_BRACKET: Final = re.compile(r"[\[\]{}]")


def excess(text: str) -> tuple[int, str] | None:
    """Return the first line of TOML or JSON on which something is nested too deeply, and what; None: nothing is."""
    bare = _QUOTED.sub(lambda found: "" if found[0][0] == "#" else '"' + "\n" * found[0].count("\n"), text)
    found = [(place, f"At most {MOST_BRACKETS} brackets inside each other.") for place in _too_deep(bare)]
    found += [(key.start(), f"A key has at most {MOST_PARTS} parts.") for key in [_LONG_KEY.search(bare)] if key]
    if not found:
        return None
    place, says = min(found)
    return bare.count("\n", 0, place) + 1, says


def _too_deep(bare: str) -> list[int]:
    depth = 0
    for bracket in _BRACKET.finditer(bare):
        depth += 1 if bracket[0] in "[{" else -1 if depth else 0
        if depth > MOST_BRACKETS:
            return [bracket.start()]
    return []
