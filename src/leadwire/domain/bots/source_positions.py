"""In which line of a TOML or JSON text something stands: parsers forget, people want to know. Pure."""

import re
from typing import Final

Lines = dict[tuple[str | int, ...], int]
"""Path from the top -> line, from 1. `("nodes", 2, "text")` is the text of the third node."""

_MULTILINE: Final = re.compile(r'"""(?:\\.|[^\\])*?"""|\'\'\'.*?\'\'\'', re.DOTALL)
_NODE: Final = re.compile(r"\s*\[\[\s*[\"']?nodes[\"']?\s*\]\]")
_OTHER_TABLE: Final = re.compile(r"\s*\[+\s*(?:nodes\s*\.\s*)?([A-Za-z0-9_.-]+)\s*\]+\s*(?:#.*)?$")
_KEY: Final = re.compile(r"\s*[\"']?([A-Za-z0-9_-]+)[\"']?(?:\s*\.\s*[A-Za-z0-9_-]+)*\s*=(?!=)")
_TOKEN: Final = re.compile(r'"(?P<text>(?:\\.|[^"\\])*)"(?P<key>\s*:)?|[{}\[\],]|[^\s{}\[\]:,"]+')
_PLACE: Final = re.compile(r"\(byte (\d+)\)|at line (\d+)")


def toml_lines(text: str) -> Lines:
    """The lines of top-level keys, of `[[nodes]]` and of the keys in them."""
    text = text.replace("\r\n", "\n")
    bare = _MULTILINE.sub(lambda quoted: '""' + "\n" * quoted[0].count("\n"), text)
    lines: Lines = {}
    place, prefix = -1, ()  # type: int, tuple[str | int, ...]
    for number, line in enumerate(bare.split("\n"), 1):
        if _NODE.match(line):
            place += 1
            prefix = ("nodes", place)
            lines[prefix] = number
        elif (table := _OTHER_TABLE.match(line)) and "=" not in line:
            prefix = ("nodes", place, *table[1].split(".")[-1:]) if place >= 0 else (table[1],)
            lines.setdefault(prefix, number)
        elif key := _KEY.match(line):
            lines.setdefault((*prefix, key[1]), number)
    return lines


def json_lines(text: str) -> Lines:
    """The line of every member and element of a text that is known to be JSON."""
    lines: Lines = {}
    path: list[str | int] = []
    number, last = 1, 0
    for token in _TOKEN.finditer(text):
        number += text.count("\n", last, token.start())
        last, word = token.start(), token[0]
        if word in "}]":
            path.pop()
        elif word == ",":
            index = path[-1]
            path[-1] = index + 1 if isinstance(index, int) else index
        else:
            if token["key"]:
                path[-1] = token["text"]
            lines.setdefault(tuple(path), number)
            if word in "{[":
                path.append(0)  # of an object, until its first key
    return lines


def line_of_error(text: str, message: str) -> int:
    """The line that a parser's message names, itself or by a byte; the last one where the text just ends."""
    place = _PLACE.search(message)
    if place is None:
        return text.rstrip("\n").count("\n") + 1
    return int(place[2]) if place[2] else text.encode()[: int(place[1])].count(b"\n") + 1
