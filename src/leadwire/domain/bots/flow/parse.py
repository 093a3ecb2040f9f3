"""Read a flow from TOML or JSON; every error is reported at once, with node and line. Pure."""

import functools
import re
import tomllib
from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec import inspect

from leadwire.domain.bots.flow import depth
from leadwire.domain.bots.flow.check import FlowError, errors_of
from leadwire.domain.bots.flow.nodes import KINDS, MAX_NODES, Flow
from leadwire.infrastructure.errors import FieldError, Invalid

_Path = tuple[str | int, ...]
_Lines = dict[_Path, int]
"""Path from the top -> line, from 1. `("nodes", 2, "text")` is the text of the third node."""

_STUCK: Final = ("unknown_node", "timezone", "hours", "date")  # faults with which a flow cannot run
LARGEST: Final = 256 * 1024  # characters

# A string of several lines; or, matched so that quotes in them begin nothing, one of a single line or a comment.
_QUOTED: Final = re.compile(
    r"""("{3}(?:\\.|[^\\])*?"{3,5}|'{3}.*?'{3,5})|"(?:\\.|[^"\\\n])*"|'[^'\n]*'|#[^\n]*""", re.DOTALL
)
NODE: Final = re.compile(r"\s*\[\[\s*[\"']?nodes[\"']?\s*\]\]")
_OTHER_TABLE: Final = re.compile(r"\s*\[+\s*(?:nodes\s*\.\s*)?([A-Za-z0-9_.-]+)\s*\]+\s*(?:#.*)?$")
_KEY: Final = re.compile(r"\s*[\"']?([A-Za-z0-9_-]+)[\"']?(?:\s*\.\s*[A-Za-z0-9_-]+)*\s*=(?!=)")
_TOKEN: Final = re.compile(r'"(?P<text>(?:\\.|[^"\\])*)"(?P<key>\s*:)?|[{}\[\],]|[^\s{}\[\]:,"]+')
_PLACE: Final = re.compile(r"\(byte (\d+)\)|at line (\d+)")
_STEP: Final = re.compile(r"\.(\w+)|\[")  # of where msgspec found a fault, such as `[0].when.all[1].op`


class BadFlow(Invalid):
    """A flow that cannot be used. `flaws` says all of it."""

    def __init__(self, found: list[FlowError]) -> None:
        count = "1 fault" if len(found) == 1 else f"{len(found)} faults"
        listed = "; ".join(str(flaw) for flaw in found[:3]) + ("; ..." if len(found) > 3 else "")
        faults = tuple(
            FieldError(flaw.code, str(flaw), "".join(f"/{step}" for step in flaw.path)) for flaw in found[:50]
        )
        super().__init__(f"The flow has {count}: {listed}", code="bad_flow", errors=faults)
        self.flaws = found


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


def examined(text: str) -> tuple[dict[str, Any], list[FlowError]]:
    """The data that a draft is, not to be changed, and everything that is wrong with it as a flow. Raise BadFlow when
    it cannot be read.
    """
    raw, _, flaws = _examined(text)
    return raw, flaws


@functools.lru_cache(maxsize=16)  # of a draft that is looked at again and again; the texts are bounded
def _examined(text: str) -> tuple[dict[str, Any], Flow | None, list[FlowError]]:
    """As `examined`, with the flow unless its nodes are not well formed."""
    raw = read(text)
    shape = _shape_flaws(raw)
    flow = None if shape else msgspec.convert(raw, Flow)
    flaws = shape if flow is None else errors_of(flow)
    return raw, flow, _placed(flaws, _json_lines(text) if is_json(text) else _toml_lines(text)) if flaws else []


def read(text: str) -> dict[str, Any]:
    """The data that `text` is, whatever is wrong with it as a flow. Raise BadFlow when it is neither TOML nor JSON."""
    if len(text) > LARGEST:
        raise BadFlow([FlowError("too_long", f"At most {LARGEST} characters.")])
    if nested := depth.excess(text):
        raise BadFlow([FlowError("too_deep", nested[1], line=nested[0])])
    try:
        raw: dict[str, Any] = msgspec.json.decode(text.encode()) if is_json(text) else tomllib.loads(text)
    except (msgspec.DecodeError, tomllib.TOMLDecodeError) as error:
        raise BadFlow([FlowError("syntax", f"{error}.", line=_line_of_error(text, str(error)))]) from error
    except (RecursionError, UnicodeEncodeError) as error:
        raise BadFlow([FlowError("syntax", "The text cannot be read.")]) from error
    return raw


def is_json(text: str) -> bool:
    """Whether a flow's text is JSON, not TOML."""
    return text.lstrip().startswith("{")


def without_long_strings(text: str) -> str:
    """TOML, which `read` has accepted, with its strings of several lines emptied, line by line as before."""
    return _QUOTED.sub(lambda found: '""' + "\n" * found[0].count("\n") if found[1] else found[0], text)


def _shape_flaws(raw: dict[str, Any]) -> list[FlowError]:
    """What keeps it from being nodes at all, each node by itself so that none hides another's faults."""
    nodes = raw.get("nodes")
    found = _members(raw, Flow, (), None, "nodes")
    if not isinstance(nodes, list) or not 1 <= len(nodes) <= MAX_NODES:
        return [*found, FlowError("nodes", f"There must be 1 to {MAX_NODES} nodes.", ("nodes",))]
    for place, node in enumerate(nodes):
        found += _node_flaws(node, place)
    return found


def _node_flaws(node: Any, place: int) -> list[FlowError]:
    path = ("nodes", place)
    if not isinstance(node, Mapping):
        return [FlowError("wrong_type", "A node is a table.", path)]
    name, kind = (text if isinstance(text := node.get(key), str) else None for key in ("id", "type"))
    if (model := KINDS.get(kind or "")) is None:
        given = f"'{node['type']}' is no type of node" if "type" in node else "The type is missing"
        return [FlowError("type", f"{given}. There are: {', '.join(KINDS)}.", (*path, "type"), name)]
    return _members(node, model, path, name, "type")


def _members(raw: Mapping[str, Any], model: Any, path: _Path, node: str | None, skip: str) -> list[FlowError]:
    """Every member of a table that is unknown, missing or not of its type, but for the member `skip`."""
    fields = {field.name: field for field in msgspec.structs.fields(model) if field.name != skip}
    found = [
        FlowError("unknown_field", f"No such field: '{key}'. There are: {', '.join(fields)}.", (*path, key), node)
        for key in raw
        if key not in fields and key != skip
    ]
    for key, field in fields.items():
        if key not in raw:
            if field.required:
                found.append(FlowError("missing_field", f"'{key}' is missing.", path, node))
            continue
        try:
            msgspec.convert(raw[key], field.type)
        except msgspec.ValidationError as error:
            text, _, inside = str(error).partition(" - at `$")
            where = f"{key}{inside.rstrip('`')}" if inside else key
            message = f"{where}: {text}.{_choices(field.type, inside)}"
            found.append(FlowError("wrong_value", message, (*path, key), node))
    return found


def _choices(model: Any, inside: str) -> str:
    """What could stand at `inside` of a value of type `model`: the choices or the fields. Empty when not of a list."""
    kind = inspect.type_info(model)
    for step in _STEP.finditer(inside):
        kind = _within(kind, step[1])
    if isinstance(kind, inspect.LiteralType):
        return f" There are: {', '.join(str(value) for value in kind.values)}."
    if isinstance(kind, inspect.StructType):
        return f" There are: {', '.join(field.name for field in kind.fields)}."
    return ""


def _within(kind: inspect.Type, member: str | None) -> inspect.Type:
    """The type of a struct's member, or (without one) of a list's items; of a union, its part that has them."""
    for one in kind.types if isinstance(kind, inspect.UnionType) else (kind,):
        if isinstance(one, inspect.Metadata):
            return _within(one.type, member)
        if member is None and isinstance(one, inspect.VarTupleType):
            return one.item_type
        if isinstance(one, inspect.StructType):
            return next((field.type for field in one.fields if field.name == member), kind)
    return kind


def _placed(found: list[FlowError], lines: _Lines) -> list[FlowError]:
    """Each flaw with the line of the nearest thing around it that has one."""
    placed = []
    for flaw in found:
        path = tuple(int(step) if step.isdigit() else step for part in flaw.path for step in str(part).split("/"))
        while path and path not in lines:
            path = path[:-1]
        placed.append(msgspec.structs.replace(flaw, line=lines.get(path)))
    return placed


def _toml_lines(text: str) -> _Lines:
    """The lines of top-level keys, of `[[nodes]]` and of the keys in them."""
    bare = without_long_strings(text)
    lines: _Lines = {}
    place, prefix = -1, ()  # type: int, tuple[str | int, ...]
    for number, line in enumerate(bare.split("\n"), 1):
        if NODE.match(line):
            place += 1
            prefix = ("nodes", place)
            lines[prefix] = number
        elif (table := _OTHER_TABLE.match(line)) and "=" not in line:
            prefix = ("nodes", place, *table[1].split(".")[-1:]) if place >= 0 else (table[1],)
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
    place = _PLACE.search(message)
    if place is None:
        return text.rstrip("\n").count("\n") + 1
    return int(place[2]) if place[2] else text.encode()[: int(place[1])].count(b"\n") + 1
