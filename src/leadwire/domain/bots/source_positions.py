"""In which line of a TOML or JSON text something stands: parsers forget, people want to know. Pure."""

import re
from typing import Final

Lines = dict[tuple[str | int, ...], int]
"""Path from the top -> line, from 1. `("nodes", 2, "text")` is the text of the third node."""

_MULTILINE: Final = re.compile(r'"""(?:\\.|[^\\])*?"""|\'\'\'.*?\'\'\'', re.DOTALL)
_NODE: Final = re.compile(r"\s*\[\[\s*[\"']?nodes[\"']?\s*\]\]")
_OTHER_TABLE: Final = re.compile(r"\s*\[+\s*(?:nodes\s*\.\s*)?([A-Za-z0-9_.-]+)\s*\]+\s*(?:#.*)?$")
_KEY: Final = re.compile(r"\s*[\"']?([A-Za-z0-9_-]+)[\"']?(?:\s*\.\s*[A-Za-z0-9_-]+)*\s*=(?!=)")
_TOKEN: Final = re.compile(r'"(?:\\.|[^"\\])*"|[{}\[\]:,]|[^\s{}\[\]:,"]+')
_BYTE: Final = re.compile(r"\(byte (\d+)\)")
_LINE: Final = re.compile(r"at line (\d+)")


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
            prefix = ("nodes", max(place, 0), *table[1].split(".")[-1:]) if place >= 0 else (table[1],)
            lines.setdefault(prefix, number)
        elif key := _KEY.match(line):
            lines.setdefault((*prefix, key[1]), number)
    return lines


def json_lines(text: str) -> Lines:
    """The line of every member and element of a text that is known to be JSON."""
    lines: Lines = {}
    path: list[str | int] = []
    kinds: list[str] = []
    number, last, key_next = 1, 0, False
    for token in _TOKEN.finditer(text):
        number += text.count("\n", last, token.start())
        last = token.start()
        word = token[0]
        if word in "}]":
            kinds.pop()
            path.pop()
            key_next = False
        elif word == ",":
            key_next = kinds[-1] == "{"
            if not key_next:
                path[-1] = int(path[-1]) + 1
        elif word == ":":
            key_next = False
        elif key_next:
            path[-1] = word[1:-1]
            lines.setdefault(tuple(path), number)
        else:
            lines.setdefault(tuple(path), number)
            if word in "{[":
                kinds.append(word)
                path.append("" if word == "{" else 0)
                key_next = word == "{"
    return lines


def line_of_byte(text: str, message: str) -> int:
    """The line that a JSON decoder's `(byte 17)` is in; the last one when the text just ends."""
    found = _BYTE.search(message)
    seen = text.encode()[: int(found[1])] if found else text.encode()
    return seen.count(b"\n") + 1


def line_of_message(text: str, message: str) -> int:
    """The line that a TOML parser's message names; the last one for `at end of document`."""
    found = _LINE.search(message)
    return int(found[1]) if found else text.rstrip("\n").count("\n") + 1
