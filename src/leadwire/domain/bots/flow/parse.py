"""Read a flow from TOML or JSON; every error is reported at once, with node and line. Pure."""

import functools
import re
import tomllib
from typing import Any, Final

import msgspec

from leadwire.domain.bots.flow import shape
from leadwire.domain.bots.flow.check import FlowError, errors_of
from leadwire.domain.bots.flow.nodes import Flow
from leadwire.infrastructure.errors import FieldError, Invalid

_Path = tuple[str | int, ...]
_Lines = dict[_Path, int]
"""Path from the top -> line, from 1. `("nodes", 2, "text")` is the text of the third node."""

_STUCK: Final = ("unknown_node", "timezone", "hours", "date")  # faults with which a flow cannot run
LARGEST: Final = 256 * 1024  # characters

NODE: Final = re.compile(r"\s*\[\[\s*[\"']?nodes[\"']?\s*\]\]")
_OTHER_TABLE: Final = re.compile(r"\s*\[+\s*(?:nodes\s*\.\s*)?([A-Za-z0-9_.-]+)\s*\]+\s*(?:#.*)?$")
_KEY: Final = re.compile(r"\s*[\"']?([A-Za-z0-9_-]+)[\"']?(?:\s*\.\s*[A-Za-z0-9_-]+)*\s*=(?!=)")
_TOKEN: Final = re.compile(r'"(?P<text>(?:\\.|[^"\\])*)"(?P<key>\s*:)?|[{}\[\],]|[^\s{}\[\]:,"]+')
_PLACE: Final = re.compile(r"\(byte (\d+)\)|at line (\d+)")

_MOST_PARTS: Final = 8  # of a key: `a.b.c` has three
_MOST_BRACKETS: Final = 64  # lists and tables inside each other

# Strings and comments, also those that nothing ends; possessive, so that each character is read once.
_STRINGS: Final = re.compile(
    r"""\"{3}(?:[^"\\]|\\.?|"(?!""))*+(?:"{3,5})?|'{3}(?:[^']|'(?!''))*+(?:'{3,5})?"""
    r"""|"(?:[^"\\\n]|\\.?)*+"?|'[^'\n]*+'?|#[^\n]*+""",
    re.DOTALL,
)
_LONG_KEY: Final = re.compile(r"""\.(?:[ \t]*+[\w"-]*+[ \t]*+\.){%d}""" % (_MOST_PARTS - 1))
_BRACKET: Final = re.compile(r"[\[\]{}]")


class BadFlow(Invalid):
    """A flow that cannot be used. `flaws` says all of it."""

    def __init__(self, flaws: list[FlowError]) -> None:
        count = "1 fault" if len(flaws) == 1 else f"{len(flaws)} faults"
        listed = "; ".join(str(flaw) for flaw in flaws[:3]) + ("; ..." if len(flaws) > 3 else "")
        faults = tuple(
            FieldError(flaw.code, str(flaw), "".join(f"/{step}" for step in flaw.path)) for flaw in flaws[:50]
        )
        super().__init__(f"The flow has {count}: {listed}", code="bad_flow", errors=faults)
        self.flaws = flaws


def parse(text: str) -> Flow:
    """The flow that `text` is: JSON if it begins with a brace, else TOML. Raise BadFlow."""
    _, flow, flaws = _examined(text)
    if flow is None or flaws:
        raise BadFlow(flaws)
    return flow


def parse_stored(text: str) -> Flow:
    """A flow that can run, perhaps one that `parse` has accepted under older rules.

    Raise BadFlow when its nodes are none any more, or lead nowhere, or its hours and dates are none.
    """
    _, flow, flaws = _examined(text)
    stuck = [flaw for flaw in flaws if flow is None or flaw.code in _STUCK]
    if flow is None or stuck:
        raise BadFlow(stuck)
    return flow


def checked(text: str) -> tuple[dict[str, Any], list[FlowError]]:
    """The data that a draft is, not to be changed, and everything that is wrong with it as a flow; empty data where it
    cannot be read.
    """
    try:
        raw, _, flaws = _examined(text)
    except BadFlow as bad:
        return {}, bad.flaws
    return raw, flaws


@functools.lru_cache(maxsize=16)  # of a draft that is looked at again and again; the texts are bounded
def _examined(text: str) -> tuple[dict[str, Any], Flow | None, list[FlowError]]:
    """As `checked`, with the flow unless its nodes are not well formed. Raise BadFlow for what cannot be read."""
    raw = read(text)
    faults = shape.faults(raw)
    flow = None if faults else msgspec.convert(raw, Flow)
    flaws = errors_of(flow) if flow else [*faults, *shape.others(raw, faults)]
    return raw, flow, _placed(flaws, _json_lines(text) if is_json(text) else _toml_lines(text)) if flaws else []


def read(text: str) -> dict[str, Any]:
    """The data that `text` is, whatever is wrong with it as a flow. Raise BadFlow when it is neither TOML nor JSON."""
    if len(text) > LARGEST:
        raise BadFlow([FlowError("too_long", f"At most {LARGEST} characters.")])
    if nested := _too_deep(text):
        raise BadFlow([FlowError("too_deep", nested[1], line=nested[0])])
    try:
        raw: dict[str, Any] = msgspec.json.decode(text.encode()) if is_json(text) else tomllib.loads(text)
    except (msgspec.DecodeError, tomllib.TOMLDecodeError) as error:
        raise BadFlow([FlowError("syntax", f"{error}.", line=_line_of_error(text, str(error)))]) from error
    except (RecursionError, ValueError) as error:  # also a number of very many digits
        raise BadFlow([FlowError("syntax", "The text cannot be read.")]) from error
    return raw


def _too_deep(text: str) -> tuple[int, str] | None:
    """Return the first line of TOML or JSON on which something is nested too deeply, and what; None: nothing is.

    It is found without parsing the text: parsers take time that grows with the square of it.
    """
    bare = _STRINGS.sub(lambda match: "" if match[0][0] == "#" else '"' + "\n" * match[0].count("\n"), text)
    faults = [(offset, f"At most {_MOST_BRACKETS} brackets inside each other.") for offset in _too_many(bare)]
    faults += [(key.start(), f"A key has at most {_MOST_PARTS} parts.") for key in [_LONG_KEY.search(bare)] if key]
    if not faults:
        return None
    offset, says = min(faults)
    return bare.count("\n", 0, offset) + 1, says


def _too_many(bare: str) -> list[int]:
    depth = 0
    for bracket in _BRACKET.finditer(bare):
        depth += 1 if bracket[0] in "[{" else -1 if depth else 0
        if depth > _MOST_BRACKETS:
            return [bracket.start()]
    return []


def is_json(text: str) -> bool:
    """Whether a flow's text is JSON, not TOML."""
    return text.lstrip().startswith("{")


def without_long_strings(text: str) -> str:
    """TOML, which `read` has accepted, with its strings of several lines emptied, line by line as before."""

    def emptied(string: re.Match[str]) -> str:
        return '""' + "\n" * string[0].count("\n") if string[0].startswith(('"' * 3, "'" * 3)) else string[0]

    return _STRINGS.sub(emptied, text)


def _placed(flaws: list[FlowError], lines: _Lines) -> list[FlowError]:
    """Each flaw with the line of the nearest thing around it that has one."""
    placed = []
    for flaw in flaws:
        path = flaw.path
        while path and path not in lines:
            path = path[:-1]
        placed.append(msgspec.structs.replace(flaw, line=lines.get(path)))
    return placed


def _toml_lines(text: str) -> _Lines:
    """The lines of top-level keys, of `[[nodes]]` and of the keys in them."""
    bare = without_long_strings(text)
    lines: _Lines = {}
    index, prefix = -1, ()  # type: int, tuple[str | int, ...]
    for number, line in enumerate(bare.split("\n"), 1):
        if NODE.match(line):
            index += 1
            prefix = ("nodes", index)
            lines[prefix] = number
        elif (table := _OTHER_TABLE.match(line)) and "=" not in line:
            prefix = ("nodes", index, *table[1].split(".")[-1:]) if index >= 0 else (table[1],)
            lines.setdefault(prefix, number)
        elif key := _KEY.match(line):
            lines.setdefault((*prefix, key[1]), number)
    return lines


def _json_lines(text: str) -> _Lines:
    """The line of every member and element of a text that is known to be JSON."""
    lines: _Lines = {}
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


def _line_of_error(text: str, message: str) -> int:
    """The line that a parser's message names, itself or by a byte; the last one where the text just ends."""
    match = _PLACE.search(message)
    if match is None:
        return text.rstrip("\n").count("\n") + 1
    return int(match[2]) if match[2] else text.encode()[: int(match[1])].count(b"\n") + 1
