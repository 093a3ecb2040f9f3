"""A draft's text with an edit in it: what did not change stays as it was written, comments too. Pure.

TOML is cut into its head and one piece for each node, and only the pieces that changed are written again. If that does
not give exactly the data that it should, the whole text is, with as many comments as can be kept. JSON has no comments.
"""

import tomllib
from typing import Any, Final

import msgspec
import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Item

from leadwire.domain.bots.builder.editing import Draft
from leadwire.domain.bots.flow.parse import NODE, is_json, without_long_strings
from leadwire.infrastructure.errors import Invalid
from leadwire.infrastructure.preconditions import digest  # in Python, `1 == True`

DEEP: Final = Invalid("Values inside values are nested too deeply here. Correct it as text.")
_WIDE: Final = 100  # characters of a list on one line


def rewritten(text: str, old: Draft, new: Draft) -> str:
    """The text of `new`, made from `text`, which is `old`'s. Raise Invalid."""
    if digest(old) == digest(new):
        return text
    try:
        return _rewritten(text, old, new)
    except RecursionError:
        raise DEEP from None


def _rewritten(text: str, old: Draft, new: Draft) -> str:
    if is_json(text):
        return msgspec.json.format(msgspec.json.encode(new), indent=2).decode() + "\n"
    for attempt in (_by_pieces, _edited):
        try:
            edited = attempt(text, old, new)
            if digest(tomllib.loads(edited)) == digest(new):
                return edited
        except (TOMLKitError, tomllib.TOMLDecodeError, LookupError, TypeError, ValueError):
            continue
    return written(new)


def written(draft: Draft) -> str:
    """A draft as TOML."""
    head = _edited("", {}, {name: value for name, value in draft.items() if name != "nodes"})
    return head.rstrip() + "\n" + "".join("\n" + _node(node) for node in draft.get("nodes", []))


def _by_pieces(text: str, old: Draft, new: Draft) -> str:
    head, *pieces = _pieces(text)
    before, after = old["nodes"], new["nodes"]
    if len(pieces) != len(before):
        raise LookupError
    by_place = len(before) == len(after)
    by_id = {node["id"]: index for index, node in enumerate(before)}
    written = []
    for index, node in enumerate(after):
        at = index if by_place else by_id.get(node["id"])
        if at is None:
            written.append(_node(node) + "\n")
        else:
            written.append(_edited(pieces[at], {"nodes": [before[at]]}, {"nodes": [node]}))
    tops = [{name: value for name, value in flow.items() if name != "nodes"} for flow in (old, new)]
    if tops[0] != tops[1]:
        head = _edited(head, *tops).rstrip() + "\n\n"
    ended = [piece if piece.endswith("\n") else piece + "\n" for piece in (head, *written) if piece]
    return "".join(ended)


def _pieces(text: str) -> list[str]:
    """The text before the first node, and that of each node with the comments right above it."""
    lines = text.split("\n")
    bare = without_long_strings(text).split("\n")
    starts = []
    for number, line in enumerate(bare):
        if NODE.match(line):
            start = number
            while start and bare[start - 1].lstrip().startswith("#"):
                start -= 1
            starts.append(start)
    ends = [*starts, len(lines)]
    cut = [lines[: ends[0]], *(lines[start:end] for start, end in zip(starts, ends[1:], strict=True))]
    return ["\n".join(piece) + ("\n" if number < len(cut) - 1 else "") for number, piece in enumerate(cut)]


def _edited(text: str, old: Draft, new: Draft) -> str:
    if digest(old) == digest(new):
        return text
    document = tomlkit.parse(text)
    _update(document, old, new)
    return document.as_string()


def _update(container: Any, old: Any, new: Any) -> None:
    """Change a table of tomlkit's from what `old` has to what `new` has, and touch nothing else."""
    for name in old.keys() - new.keys():
        del container[name]
    for name, value in new.items():
        before = old.get(name)
        if name in old and digest(before) == digest(value):
            continue
        if isinstance(before, dict) and isinstance(value, dict):
            _update(container[name], before, value)
        elif _alike(before, value):
            for index, (row, changed) in enumerate(zip(before, value, strict=True)):
                _update(container[name][index], row, changed)
        else:
            container[name] = _item(value)


def _alike(old: Any, new: Any) -> bool:
    """Whether both are lists of as many tables."""
    lists = isinstance(old, list) and isinstance(new, list) and len(old) == len(new)
    return lists and all(isinstance(row, dict) for row in (*old, *new))


def _node(node: dict[str, Any]) -> str:
    table = tomlkit.table()
    for name, value in node.items():
        table.add(name, _item(value))
    return f"[[nodes]]\n{table.as_string()}"


def _item(value: Any) -> Item:
    if isinstance(value, dict):
        table = tomlkit.inline_table()
        for name, part in value.items():
            table.append(name, _item(part))
        return table
    if isinstance(value, list):
        array = tomlkit.array()
        for part in value:
            array.append(_item(part))
        return array.multiline(len(array.as_string()) > _WIDE)
    if isinstance(value, str) and "\n" in value and '"""' not in value:
        return tomlkit.string(value, multiline=True)
    item: Item = tomlkit.item(value)
    return item
