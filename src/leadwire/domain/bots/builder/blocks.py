"""Steps that many flows need, ready to be inserted into one: as nodes for the builder, as text for the editor. Pure."""

import functools
import tomllib
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from leadwire.domain.bots.builder import fields
from leadwire.domain.bots.flow.attachments import fault, is_placeholder
from leadwire.domain.bots.flow.parse import BadFlow, read
from leadwire.infrastructure.errors import NotFound

_DIRECTORY: Final = Path(__file__).with_name("blocks")
_NAMES: Final = ("contact", "email", "consent")
_AFTER: Final = "after"  # in the files: the node that the flow continues with


class Block(Struct, frozen=True):
    """A block. `source` is its nodes as TOML, which continue with `after`."""

    name: str
    label: str
    about: str
    source: str


@functools.cache
def offered() -> tuple[Block, ...]:
    """Every block, in the order in which they are offered."""
    blocks = []
    for name in _NAMES:
        label, about, source = (_DIRECTORY / f"{name}.toml").read_text(encoding="utf-8").split("\n", 2)
        blocks.append(Block(name, label.removeprefix("# "), about.removeprefix("# "), source.strip()))
    return tuple(blocks)


def nodes(name: str, taken: Collection[str], after: str = "") -> list[dict[str, Any]]:
    """The nodes of a block as plain data, the first to be entered, with IDs that are not `taken`.

    They continue with the node `after`; without it, what would name it is left out. Raise NotFound.
    """
    block = next((block for block in offered() if block.name == name), None)
    if block is None:
        raise NotFound("There is no such block.")
    copies: list[dict[str, Any]] = tomllib.loads(block.source)["nodes"]
    ids: dict[str, str] = {}
    for node in copies:
        ids[node["id"]] = free(node["id"], {*taken, *ids.values()})
    for node in copies:
        node["id"] = ids[node["id"]]
        for way, target in fields.ways(node).items():
            fields.lead(node, way, after if target == _AFTER else ids.get(target or ""))
    return copies


def with_privacy(draft: dict[str, Any], address: str) -> dict[str, Any]:
    """The draft with the address of the privacy page where a link of a question for consent has none yet."""
    copy = deepcopy(draft)
    for link in _privacy_links(copy):
        link["url"] = link.get("url") or address
    return copy


def privacy_page(texts: Sequence[str]) -> str:
    """The address of the privacy page in the first of some drafts that has one; empty without any."""
    for text in texts:
        with suppress(BadFlow):
            for link in _privacy_links(read(text)):
                if isinstance(url := link.get("url"), str) and not (fault(url) or is_placeholder(url)):
                    return url
    return ""


def _privacy_links(draft: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The links of the questions for consent, as far as they have their shape."""
    for node in fields.rows(draft.get("nodes")):
        if any("consent" in option for option in fields.rows(node.get("options"))):
            yield from fields.rows(node.get("links"))


def free(stem: str, taken: Collection[str]) -> str:
    """An id that is not taken."""
    names = (f"{stem[:40]}-{number}" if number > 1 else stem[:40] for number in range(1, len(taken) + 2))
    return next(name for name in names if name not in taken)
